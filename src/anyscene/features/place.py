"""`place`: how often each class is seen where in a picture. It looks at nothing, so it is there at once."""

from __future__ import annotations

from collections.abc import Iterable

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.features.pooling import Pooling
from anyscene.features.sets import Arrays, FeatureSet, register
from anyscene.features.view import Rect, View

CELLS = (24, 32)
"""Rows and columns of the map. Finer ones are no better: outlines differ from picture to picture."""

DOUBT = 4.0
"""So many pictures of the whole's frequencies are added to what was seen in each cell."""


@register
class Place(FeatureSet):
    """Probability of each class in a cell of the frame, whatever the picture shows there.

    chances: float32[rows, columns, classes].
    """

    name = "place"
    pooling = Pooling.MEAN
    stride = 0
    speaks_of_classes = True
    fineness = 0.01

    def __init__(self, chances: NDArray[np.float32]) -> None:
        self.chances = np.ascontiguousarray(chances, np.float32)
        self.channels = self.dimensions = self.chances.shape[2]

    def extract(self, view: View, rect: Rect, stride: int) -> NDArray[np.float32]:
        """The map, or the part of it that lies under `rect`."""
        if rect == view.rect:
            return self.chances
        height, width = view.size
        rows, columns = self.chances.shape[:2]
        # Cell centres of the part, in cells of the whole.
        down = rect.top + (np.arange(rows) + 0.5) * (rect.bottom - rect.top) / rows
        along = rect.left + (np.arange(columns) + 0.5) * (rect.right - rect.left) / columns
        y, x = np.meshgrid(down * rows / height - 0.5, along * columns / width - 0.5, indexing="ij")
        part = np.empty_like(self.chances)
        for label in range(self.channels):
            part[..., label] = cv2.remap(
                np.ascontiguousarray(self.chances[..., label]),
                x.astype(np.float32),
                y.astype(np.float32),
                cv2.INTER_LINEAR,
                borderMode=cv2.BORDER_REPLICATE,
            )
        return part

    def extraction_pixels(self, rect: Rect, frame: tuple[int, int]) -> int:
        """Nothing is read."""
        return 0

    def arrays(self) -> Arrays:
        """The map."""
        return {"chances": self.chances}


def fit_place(
    samples: Iterable[tuple[NDArray[np.uint8], NDArray[np.integer]]], classes: int
) -> dict[str, NDArray[np.float32]]:
    """Count the classes of truths, void where negative, in each cell; frames are not looked at."""
    counts = np.zeros((*CELLS, classes))
    for _, truth in samples:
        counts += _shares(truth, classes)
    whole = counts.sum(axis=(0, 1))
    whole /= max(whole.sum(), 1e-9)
    counts = cv2.GaussianBlur(counts, (0, 0), 1.0, borderType=cv2.BORDER_REPLICATE) + DOUBT * whole
    return {"chances": (counts / counts.sum(axis=2, keepdims=True)).astype(np.float32)}


def _shares(truth: NDArray[np.integer], classes: int) -> NDArray[np.float64]:
    """What share of each cell a class covers, float64[*CELLS, classes]."""
    rows = np.arange(truth.shape[0]) * CELLS[0] // truth.shape[0]
    columns = np.arange(truth.shape[1]) * CELLS[1] // truth.shape[1]
    cells = rows[:, None] * CELLS[1] + columns
    known = truth >= 0
    cell_count = CELLS[0] * CELLS[1]
    counts = np.bincount(cells[known] * classes + truth[known], minlength=cell_count * classes)
    area = np.bincount(cells.ravel(), minlength=cell_count)
    return counts.reshape(*CELLS, classes) / np.maximum(area, 1).reshape(*CELLS, 1)
