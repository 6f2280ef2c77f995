"""From a score map to probabilities, and to a label map at the size of the image."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.features.hypercolumn import kernels

SHADE_REACH = 20.0
"""A cell whose shade, from 0 to 255, differs by so much from a pixel's counts half as much for it."""


def make_chances(scores: NDArray[np.float32], classes: int) -> None:
    """Turn the first `classes` of a map's scores, float32[h, w, columns], into probabilities, in place."""
    rows = scores.reshape(-1, scores.shape[2])
    masses = np.empty((len(rows), classes), np.float32)
    kernels.below_highest(rows, masses, np.float32(-np.inf))
    cv2.exp(masses, dst=masses)  # three times as fast as a compiled loop
    kernels.put_shares(masses, rows)


def floored_scores(scores: NDArray[np.float32], classes: int, lowest: float) -> NDArray[np.float32]:
    """How far the first `classes` scores of each cell lie below their highest, float32[h, w, classes].

    lowest : none lies further below.
    """
    height, width, columns = scores.shape
    below = np.empty((height * width, classes), np.float32)
    kernels.below_highest(scores.reshape(-1, columns), below, np.float32(lowest))
    return below.reshape(height, width, classes)


def labels_by_scores(scores: NDArray[np.float32], classes: int, size: tuple[int, int]) -> NDArray[np.int16]:
    """Enlarge the scores bilinearly to (height, width), then take the best class of each pixel."""
    best = _best(scores, classes)
    labels = np.empty(size, np.int16)
    rows = _positions(size[0], scores.shape[0])
    columns = _positions(size[1], scores.shape[1])
    kernels.paint_between(scores, classes, best, *rows, *columns, labels)
    return labels


def labels_by_shades(
    scores: NDArray[np.float32],
    classes: int,
    shades: NDArray[np.uint8],
    cell_shades: NDArray[np.uint8],
) -> NDArray[np.int16]:
    """Label each pixel with the best class of the four cells around it, mixed by place and by likeness.

    shades : of pixels, uint8[H, W]. cell_shades : of cells, uint8[h, w].

    Things end where shades change, often within a cell: CamVid's halves judged on each other, this labels 0.3
    and 0.7 points more pixels right than `labels_by_scores` at a fifth of the frame, 0.1 at full size.
    """
    labels = np.empty(shades.shape, np.int16)
    rows = _positions(shades.shape[0], scores.shape[0])
    columns = _positions(shades.shape[1], scores.shape[1])
    narrow = np.float32(1 / SHADE_REACH**2)
    best = _best(scores, classes)
    kernels.paint_alike(scores, classes, best, *rows, *columns, shades, cell_shades, narrow, labels)
    return labels


def labels_by_cells(scores: NDArray[np.float32], classes: int, size: tuple[int, int]) -> NDArray[np.int16]:
    """Take the best class of each cell, then enlarge the label map to (height, width)."""
    enlarged = cv2.resize(_best(scores, classes), (size[1], size[0]), interpolation=cv2.INTER_NEAREST_EXACT)
    return np.asarray(enlarged)


def _best(scores: NDArray[np.float32], classes: int) -> NDArray[np.int16]:
    best = np.empty(scores.shape[:2], np.int16)
    kernels.best_classes(scores, classes, best)
    return best


@lru_cache(maxsize=256)
def _positions(pixels: int, cells: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The first pixel of each cell's block, and how far each pixel's centre lies beyond that of its cell."""
    position = np.clip((np.arange(pixels) + 0.5) * (cells / pixels) - 0.5, 0, cells - 1)
    before = position.astype(np.int64)
    return np.searchsorted(before, np.arange(cells + 1)), (position - before).astype(np.float32)
