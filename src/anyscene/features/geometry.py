"""`geometry`: a region's shape, its contact with the borders, and where it stands in the scene."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.features.layout import MAPS, POINTS, LayoutClassifier, fit_layout, gradient_means
from anyscene.features.pooling import Pooling
from anyscene.features.sets import SHAPES, FeatureSet, register
from anyscene.features.shapes import Shapes
from anyscene.features.surfaces import SURFACES, surface_truth
from anyscene.features.view import View
from anyscene.named_arrays import Arrays

FILTERS, TREES, DEPTH = 120, 24, 4
"""The size of the classifier of surfaces: small, since three surfaces are easy to tell apart."""

SHAPE_COLUMNS = 10
SCENE_COLUMNS = len(SURFACES) + 3
LINE_COLUMNS = 4

FAINTEST = 1e-3
"""Gradients count as at least this strong, so that a flat region has a direction of 0 and not of 0 / 0."""


@register
class Geometry(FeatureSet):
    """Shape and border contact; surface scores and place relative to the horizon; how straight lines run.

    The map holds the probabilities of the surfaces (ground, vertical, sky), the signed distance below the
    horizon that they imply, and the gradient's strength and direction (twice the angle, as a vector).
    """

    name = "geometry"
    dimensions = SHAPE_COLUMNS + SCENE_COLUMNS + LINE_COLUMNS
    needs = (*MAPS, SHAPES)
    pooling = Pooling.MEAN
    channels = len(SURFACES) + 4
    stride = POINTS
    version = 2

    def __init__(self, classifier: LayoutClassifier) -> None:
        self.classifier = classifier

    def extract(self, view: View) -> NDArray[np.float32]:
        """Surfaces, distance to the horizon and line vectors, float32[h', w', 7]."""
        surfaces = self.classifier.classify(view)
        rows, columns = surfaces.shape[:2]
        below = (np.arange(rows) + 0.5) / rows - horizon(surfaces)
        distance = np.broadcast_to(below.astype(np.float32)[:, None, None], (rows, columns, 1))
        return np.concatenate([surfaces, distance, gradient_means(view)], axis=2)

    def features(self, pooled: NDArray[np.float32], shapes: Callable[[], Shapes]) -> NDArray[np.float32]:
        """Put shape, scene and lines side by side."""
        shape = shapes()
        below = pooled[:, len(SURFACES)]
        horizon_row = shape.center[:, 0] - below
        scene = [
            pooled[:, : len(SURFACES)],
            below,
            shape.box[:, 0] - horizon_row,
            shape.box[:, 2] - horizon_row,
        ]
        strength, cosine, sine = pooled[:, -3:].T
        strength = np.maximum(strength, FAINTEST)
        lines = [np.log(strength), cosine / strength, sine / strength, np.hypot(cosine, sine) / strength]
        return np.column_stack([_describe(shape), *scene, *lines])

    def arrays(self) -> Arrays:
        """The classifier of surfaces."""
        return self.classifier.arrays()

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Geometry:
        """Make the set from its classifier."""
        classifier = LayoutClassifier.from_arrays(arrays)
        if classifier.classes != len(SURFACES):
            raise ValueError(f"geometry tells {classifier.classes} surfaces apart, not {len(SURFACES)}")
        return cls(classifier)


def horizon(surfaces: NDArray[np.float32]) -> float:
    """The row, from 0 (top) to 1 (bottom), that best parts what is not ground from the ground below it."""
    ground = surfaces[:, :, 0].mean(axis=1)
    gain = np.concatenate([[0], np.cumsum(1 - 2 * ground)])
    return float(gain.argmax() / len(ground))


def fit_geometry(
    samples: Iterable[tuple[NDArray[np.uint8], NDArray[np.integer]]],
    class_names: Sequence[str],
    rng: np.random.Generator,
) -> dict[str, NDArray[Any]]:
    """Learn the surfaces from working frames and their truth at the frame's size."""
    surfaces = ((image, surface_truth(truth, class_names)) for image, truth in samples)
    return fit_layout(surfaces, len(SURFACES), rng, FILTERS, TREES, DEPTH)


def _describe(shape: Shapes) -> NDArray[np.float32]:
    height = shape.pixel_box[:, 2] - shape.pixel_box[:, 0]
    width = shape.pixel_box[:, 3] - shape.pixel_box[:, 1]
    # A filled ellipse with these spreads has the area 4 pi sd_1 sd_2.
    spreads = shape.pixel_spread.prod(axis=1) * np.sqrt(np.maximum(1 - shape.correlation**2, 1e-4))
    return np.column_stack(
        [
            np.log(shape.area),
            np.log(height / width),
            shape.pixel_area / (height * width),
            shape.pixel_area / (4 * np.pi * spreads),
            np.log(shape.pixel_spread[:, 0] / shape.pixel_spread[:, 1]),
            shape.correlation,
            shape.contact,
        ]
    )
