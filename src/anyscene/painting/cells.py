"""From the scores of cells to a label for each pixel."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.painting import cell_kernels as kernels

SHADE_REACH = 20.0
"""Steps of 255: a cell whose shade differs so much from a pixel's counts half; see the research note."""


def labels_by_scores(scores: NDArray[np.float32], classes: int, size: tuple[int, int]) -> NDArray[np.int16]:
    """Enlarge the scores bilinearly to (height, width), then take the best class of each pixel."""
    labels = np.empty(size, np.int16)
    kernels.paint_between(_cells(scores, classes), *_blocks(scores, size), labels)
    return labels


def labels_by_shades(
    scores: NDArray[np.float32],
    classes: int,
    shades: NDArray[np.uint8],
    cell_shades: NDArray[np.uint8],
) -> NDArray[np.int16]:
    """Label each pixel with the best class of the four cells around it, mixed by place and by likeness.

    Things end where shades change, often within a cell: docs/research/2026-11-17-outlines-and-shades.md.

    shades: of pixels, uint8[H, W]. cell_shades: of cells, uint8[h, w].
    """
    labels = np.empty(shades.shape, np.int16)
    light = kernels.Shades(shades, cell_shades, np.float32(1 / SHADE_REACH**2))
    kernels.paint_alike(_cells(scores, classes), *_blocks(scores, labels.shape), light, labels)
    return labels


def labels_by_cells(scores: NDArray[np.float32], classes: int, size: tuple[int, int]) -> NDArray[np.int16]:
    """Take the best class of each cell, then enlarge the label map to (height, width)."""
    return repeat_cells(best_classes(scores, classes), size)


def best_classes(scores: NDArray[np.float32], classes: int) -> NDArray[np.int16]:
    """The class with the highest score in each cell, int16[h, w]."""
    best = np.empty(scores.shape[:2], np.int16)
    kernels.best_classes(scores, classes, best)
    return best


def repeat_cells(labels: NDArray[np.int16], size: tuple[int, int]) -> NDArray[np.int16]:
    """Enlarge a label map of cells to (height, width)."""
    return np.asarray(cv2.resize(labels, (size[1], size[0]), interpolation=cv2.INTER_NEAREST_EXACT))


def _cells(scores: NDArray[np.float32], classes: int) -> kernels.Cells:
    return kernels.Cells(scores, best_classes(scores, classes), classes)


def _blocks(scores: NDArray[np.float32], size: tuple[int, ...]) -> tuple[kernels.Blocks, kernels.Blocks]:
    return _positions(size[0], scores.shape[0]), _positions(size[1], scores.shape[1])


@lru_cache(maxsize=256)
def _positions(pixels: int, cells: int) -> kernels.Blocks:
    position = np.clip((np.arange(pixels) + 0.5) * (cells / pixels) - 0.5, 0, cells - 1)
    before = position.astype(np.int64)
    starts = np.searchsorted(before, np.arange(cells + 1))
    return kernels.Blocks(starts, (position - before).astype(np.float32))
