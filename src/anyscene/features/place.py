"""`place`: how often each class is seen in each part of a picture. It does not look at the image."""

from __future__ import annotations

from collections.abc import Iterable

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.checks import check_array, check_keys
from anyscene.features.pooling import Pooling
from anyscene.features.sets import FeatureSet, register
from anyscene.features.view import View
from anyscene.named_arrays import Arrays

CELLS = (24, 32)
"""Rows and columns of the map. A finer map is no better: outlines differ from picture to picture."""

MOST_CELLS = 512
"""The most cells along a side of a map that comes from a file."""

PRIOR_PICTURES = 4.0
"""Pictures with the same frequencies everywhere that are added to those seen, so that no cell is too sure."""

SMOOTHING = 1.0
"""Cells: the standard deviation of the blur over the counts; neighbouring cells show the same things."""


@register
class Place(FeatureSet):
    """Probability of each class in each cell of the frame, whatever the picture shows.

    chances: float32[rows, columns, classes].
    """

    name = "place"
    pooling = Pooling.MEAN
    stride = None
    speaks_of_classes = True
    fineness = 0.01

    def __init__(self, chances: NDArray[np.float32]) -> None:
        self.chances = np.ascontiguousarray(chances, np.float32)
        self.channels = self.dimensions = self.chances.shape[2]

    def extract(self, view: View) -> NDArray[np.float32]:
        """The map, whatever the frame shows."""
        return self.chances

    def extraction_pixels(self, frame: tuple[int, int]) -> int:
        """Nothing is read."""
        return 0

    def arrays(self) -> Arrays:
        """The map."""
        return {"chances": self.chances}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Place:
        """Make the set from its map."""
        check_keys("the arrays of place", arrays, ("chances",))
        chances = arrays["chances"]
        check_array("the map of place", chances, np.float32, (None, None, None), 0, 1)
        if not 1 <= min(chances.shape) <= max(chances.shape[:2]) <= MOST_CELLS:
            raise ValueError(f"the map of place has {chances.shape[0]} times {chances.shape[1]} cells")
        return cls(chances)


def fit_place(
    samples: Iterable[tuple[NDArray[np.uint8], NDArray[np.integer]]], classes: int
) -> dict[str, NDArray[np.float32]]:
    """Count the classes of truths (negative: void) in each cell; the frames do not matter."""
    counts = np.zeros((*CELLS, classes))
    for _, truth in samples:
        counts += _shares(truth, classes)
    whole = counts.sum(axis=(0, 1))
    whole /= max(whole.sum(), 1e-9)
    counts = cv2.GaussianBlur(counts, (0, 0), SMOOTHING, borderType=cv2.BORDER_REPLICATE)
    counts += PRIOR_PICTURES * whole
    return {"chances": (counts / counts.sum(axis=2, keepdims=True)).astype(np.float32)}


def _shares(truth: NDArray[np.integer], classes: int) -> NDArray[np.float64]:
    """The share of each cell that each class covers, float64[*CELLS, classes]."""
    rows = np.arange(truth.shape[0]) * CELLS[0] // truth.shape[0]
    columns = np.arange(truth.shape[1]) * CELLS[1] // truth.shape[1]
    cells = rows[:, None] * CELLS[1] + columns
    known = truth >= 0
    cell_count = CELLS[0] * CELLS[1]
    counts = np.bincount(cells[known] * classes + truth[known], minlength=cell_count * classes)
    area = np.bincount(cells.ravel(), minlength=cell_count)
    return counts.reshape(*CELLS, classes) / np.maximum(area, 1).reshape(*CELLS, 1)
