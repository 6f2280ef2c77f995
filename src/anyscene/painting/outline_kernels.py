"""Kernels that mix the scores of neighbouring cells of like colour."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def mix_alike(
    scores: NDArray[np.float32],
    colors: NDArray[np.uint8],
    alike: NDArray[np.float32],
    mixed: NDArray[np.float32],
) -> None:
    """Mix the scores of each cell, float32[h, w, C], with those of the eight cells around it, into `mixed`.

    Rows are laid out by class, so that each class is one run of additions, with a cell of no weight at either
    end. A cell's own weight is 1.

    colors: uint8[h, w, 3]. alike: float32[2, D], the weight of a neighbour at a side and at a corner, by the
    squared distance of its colour; the last weight also holds for all greater distances.
    """
    height, width, classes = scores.shape
    rows = np.zeros((3, classes, width + 2), np.float32)  # above, here, below
    up, down = np.zeros((3, width + 2), np.float32), np.zeros((3, width + 2), np.float32)
    across = np.zeros(width + 2, np.float32)
    _lay_out(scores[0], rows[1])
    sums, total = np.empty((classes, width), np.float32), np.empty(width, np.float32)
    for y in range(height):
        above, here, below = rows[y % 3], rows[(y + 1) % 3], rows[(y + 2) % 3]
        if y + 1 < height:
            _lay_out(scores[y + 1], below)
            _weigh(colors[y], colors[y + 1], alike, down)
        else:
            down[:] = 0
        _weigh_across(colors[y], alike[0], across)
        for x in range(width):
            sides = across[x] + across[x + 1] + up[1, x + 1] + down[1, x + 1]
            corners = up[2, x] + up[0, x + 2] + down[0, x + 1] + down[2, x + 1]
            total[x] = 1 / (1 + sides + corners)
        for k in range(classes):
            a, b, c = above[k], here[k], below[k]
            s = sums[k]
            for x in range(width):
                t = b[x + 1] + across[x] * b[x] + across[x + 1] * b[x + 2]
                t += up[2, x] * a[x] + up[1, x + 1] * a[x + 1] + up[0, x + 2] * a[x + 2]
                t += down[0, x + 1] * c[x] + down[1, x + 1] * c[x + 1] + down[2, x + 1] * c[x + 2]
                s[x] = t * total[x]
        out = mixed[y]
        for x in range(width):
            for k in range(classes):
                out[x, k] = sums[k, x]
        up, down = down, up


@njit(cache=True, nogil=True)
def _lay_out(cells: NDArray[np.float32], row: NDArray[np.float32]) -> None:
    """Lay out a row of cells, float32[w, C], by class, float32[C, w + 2]."""
    for x in range(cells.shape[0]):
        for k in range(cells.shape[1]):
            row[k, x + 1] = cells[x, k]


@njit(cache=True, nogil=True)
def _weigh(
    here: NDArray[np.uint8],
    below: NDArray[np.uint8],
    alike: NDArray[np.float32],
    weights: NDArray[np.float32],
) -> None:
    """How alike each cell of a row is to those below it, left, middle and right, into float32[3, w + 2]."""
    last = len(here) - 1
    for x in range(len(here)):
        weights[1, x + 1] = alike[0, _distance(here[x], below[x], alike.shape[1])]
        if x > 0:
            weights[0, x + 1] = alike[1, _distance(here[x], below[x - 1], alike.shape[1])]
        if x < last:
            weights[2, x + 1] = alike[1, _distance(here[x], below[x + 1], alike.shape[1])]


@njit(cache=True, nogil=True)
def _weigh_across(here: NDArray[np.uint8], alike: NDArray[np.float32], weights: NDArray[np.float32]) -> None:
    """How alike each cell of a row is to the one after it, into float32[w + 2], one place further on."""
    for x in range(len(here) - 1):
        weights[x + 1] = alike[_distance(here[x], here[x + 1], len(alike))]


@njit(cache=True, nogil=True)
def _distance(one: NDArray[np.uint8], other: NDArray[np.uint8], ends: int) -> np.signedinteger[Any]:
    """The squared distance of two colours, or `ends - 1` if that is less."""
    red = np.int32(one[0]) - np.int32(other[0])
    green = np.int32(one[1]) - np.int32(other[1])
    blue = np.int32(one[2]) - np.int32(other[2])
    return min(red * red + green * green + blue * blue, np.int32(ends - 1))
