"""How much an image is like those that a model was trained on, by its colours and edges as a whole.

A model is as sure of noise as of a street: its confidence holds for images like those that it has seen. Here
an image becomes a short description, and familiar is one that lies about as far from the middle of the
training images as they do themselves. Farther out means something else; much nearer means something too even
to be a scene, such as a wall of gravel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.checks import check_array

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

WARNING = 0.02
"""Below this an image is hardly like any training image: fewer than one in a hundred of them is as far."""


@dataclass(frozen=True, eq=False)
class Familiarity:
    """What images that are familiar look like.

    mean : float64[d]. precision : float64[d, d], the inverse of the covariance. distances : float64[n], of
    training images that had no part in the other two, sorted.
    """

    mean: NDArray[np.float64]
    precision: NDArray[np.float64]
    distances: NDArray[np.float64]

    def __call__(self, image: NDArray[np.uint8]) -> float:
        """Between 0, unlike any training image, and 1."""
        return self.of(describe(image))

    def of(self, description: NDArray[np.float64]) -> float:
        """The same for a description."""
        distance = _distances(description[None], self.mean, self.precision)[0]
        nearer = int(np.searchsorted(self.distances, distance)) / len(self.distances)
        return 2 * min(nearer, 1 - nearer)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """As arrays of a model file."""
        return {
            "mean": self.mean.astype(np.float32),
            "precision": self.precision.astype(np.float32),
            "distances": self.distances.astype(np.float32),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Familiarity:
        """The inverse of `to_arrays`; raises ValueError where they do not fit together."""
        mean, precision, distances = (arrays[name] for name in ("mean", "precision", "distances"))
        size = len(describe(np.zeros((1, 1, 3), np.uint8)))
        for array, shape in ((mean, (size,)), (precision, (size, size)), (distances, (None,))):
            check_array("what is familiar", array, np.float32, shape)
        if not len(distances):
            raise ValueError("what is familiar has no distances")
        return cls(*(array.astype(np.float64) for array in (mean, precision, distances)))


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


def fit_familiarity(descriptions: Sequence[NDArray[np.float64]]) -> Familiarity:
    """Learn from descriptions of training images; each half's distances are from the other half's middle."""
    known = np.array(descriptions)
    halves = known[::2], known[1::2]
    apart = [_distances(mine, *_middle(other)) for mine, other in (halves, halves[::-1])]
    mean, precision = _middle(known)
    return Familiarity(mean, precision, np.sort(np.concatenate(apart)))


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
