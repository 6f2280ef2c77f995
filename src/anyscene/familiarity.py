"""How much an image is like those that a model was trained on: by its looks, and by what its network sees.

A model is as sure of noise as of a street: its confidence holds for images like those that it has seen. Here
an image becomes two short descriptions: its colours and edges, and the means of the network's features.
Familiar is an image that lies about as far from the middle of the training images as they do themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import erfc, sqrt
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.checks import check_array
from anyscene.named_arrays import prefixed, under

COLORS, CELLS = (64, 48), (4, 3)
"""Width and height that colours are looked at in, and the cells that colours and edges are averaged in."""

LONG_SIDE = 240
"""Edges are looked at in an image of at most this size."""

COARSE_EDGE = 3.0
"""The blur in pixels before coarse edges are looked at."""

FADE_FINE, FADE_COARSE = 1e-3, 1e-4
"""Added to the strength of edges before its logarithm is taken: less than this is none."""

SHRINKAGE = 0.05
"""The share of the mean variance that is added to every variance: directions in which few training images
differ would count for too much.
"""

FAMILIARITY = "familiarity"
"""What its arrays in a model file, and its file beside a model, are called."""

IMAGES_A_NUMBER = 4
"""So many training images for each number of a description show how near to the middle an image may lie.
Where there are fewer, they lie nearer than new images do, since the middle is made of them.
"""

WARNING = 0.02
"""Below this an image is hardly like any training image: by each measure one in fifty is as strange."""


@dataclass(frozen=True, eq=False)
class Usual:
    """Where descriptions of familiar images lie.

    mean : float64[d]. precision : float64[d, d], the inverse of the covariance. distances : float64[n], of
    training images that had no part in the other two.
    """

    mean: NDArray[np.float64]
    precision: NDArray[np.float64]
    distances: NDArray[np.float64]

    def remoteness(self, description: NDArray[np.float64]) -> float:
        """How much farther from the middle than training images, in standard deviations of log distances.

        Logarithms of distances are about normal, so a few training images show where their tail ends.
        """
        distance = _distances(description[None], self.mean, self.precision)
        logs, own = (np.log(np.maximum(each, LEAST_DISTANCE)) for each in (self.distances, distance))
        return float((own[0] - logs.mean()) / max(logs.std(), LEAST_SPREAD))

    @property
    def knows_what_is_too_near(self) -> bool:
        """Whether it was learned from enough images to tell that one lies too near to the middle."""
        return len(self.distances) >= IMAGES_A_NUMBER * len(self.mean)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """As arrays of a model file."""
        return {name: getattr(self, name).astype(np.float32) for name in PARTS}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], size: int | None) -> Usual:
        """The inverse of `to_arrays`; raises ValueError unless they are of descriptions of this size."""
        mean, precision, distances = (arrays[name] for name in PARTS)
        for array, shape in ((mean, (size,)), (precision, (len(mean),) * 2), (distances, (None,))):
            check_array("what is familiar", array, np.float32, shape)
        if not len(distances):
            raise ValueError("what is familiar has no distances")
        return cls(*(array.astype(np.float64) for array in (mean, precision, distances)))


LEAST_DISTANCE, LEAST_SPREAD = 1e-6, 0.05
"""Where training images are all the same, nothing else may be infinitely strange."""

PARTS = ("mean", "precision", "distances")


@dataclass(frozen=True, eq=False)
class Familiarity:
    """What images that are familiar look like. features : None for a model without a network."""

    looks: Usual
    features: Usual | None = None

    def __call__(self, image: NDArray[np.uint8], features: NDArray[np.floating] | None = None) -> float:
        """Between 0, unlike any training image, and 1. features : what `Network.mean_features` gives.

        The stranger of the two descriptions counts. Where training images are many, looks may also lie too
        near to the middle, where only pictures lie that are too even to be a scene, such as a wall of gravel.
        """
        away = self.looks.remoteness(describe(image))
        by_looks = erfc((abs(away) if self.looks.knows_what_is_too_near else max(away, 0.0)) / sqrt(2))
        if self.features is None or features is None:
            return by_looks
        return min(by_looks, erfc(self.features.remoteness(features.astype(np.float64)) / sqrt(2)) / 2)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """As arrays of a model file."""
        seen = self.features.to_arrays() if self.features else {}
        return {**self.looks.to_arrays(), **prefixed("features", seen)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], width: int | None = None) -> Familiarity:
        """The inverse of `to_arrays`; raises ValueError where they do not fit together.

        width : how many features the model's network has; None if it has no network.
        """
        looks = Usual.from_arrays(arrays, len(describe(np.zeros((1, 1, 3), np.uint8))))
        seen = under("features", arrays)
        return cls(looks, Usual.from_arrays(seen, width) if seen else None)


def describe(image: NDArray[np.uint8]) -> NDArray[np.float64]:
    """An image uint8[H, W, 3] in some 90 numbers: colours of cells, their spread, fine and coarse edges."""
    small = cv2.resize(image, COLORS, interpolation=cv2.INTER_AREA)
    lab = cv2.cvtColor(small.astype(np.float32) / 255, cv2.COLOR_RGB2LAB) / 50
    scale = LONG_SIDE / max(image.shape[:2])
    size = [max(8, round(scale * side)) for side in (image.shape[1], image.shape[0])]
    grey = cv2.cvtColor(cv2.resize(image, size, interpolation=cv2.INTER_AREA), cv2.COLOR_RGB2GRAY)
    grey = grey.astype(np.float32) / 255
    fine, coarse = _edges(grey), _edges(cv2.GaussianBlur(grey, (0, 0), COARSE_EDGE))
    parts = (
        cv2.resize(lab, CELLS, interpolation=cv2.INTER_AREA),
        lab.reshape(-1, 3).std(axis=0),
        np.log(fine + FADE_FINE),
        np.log(coarse + FADE_COARSE),
    )
    return np.concatenate([part.ravel() for part in parts]).astype(np.float64)


def fit_usual(descriptions: Sequence[NDArray[np.floating]]) -> Usual:
    """Learn from descriptions of training images; each half's distances are from the other half's middle."""
    known = np.array(descriptions, np.float64)
    halves = known[::2], known[1::2]
    apart = [_distances(mine, *_middle(other)) for mine, other in (halves, halves[::-1])]
    mean, precision = _middle(known)
    return Usual(mean, precision, np.concatenate(apart))


def _middle(known: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    covariance = np.cov(known.T)
    shrunk = covariance + SHRINKAGE * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    return known.mean(axis=0), np.linalg.inv(shrunk)


def _distances(
    descriptions: NDArray[np.float64], mean: NDArray[np.float64], precision: NDArray[np.float64]
) -> NDArray[np.float64]:
    away = descriptions - mean
    return np.asarray(np.einsum("ij,jk,ik->i", away, precision, away))


def _edges(grey: NDArray[np.float32]) -> NDArray[np.float32]:
    across, down = np.abs(np.diff(grey, axis=1))[:-1], np.abs(np.diff(grey, axis=0))[:, :-1]
    return np.asarray(cv2.resize(np.dstack([across, down]), CELLS, interpolation=cv2.INTER_AREA))
