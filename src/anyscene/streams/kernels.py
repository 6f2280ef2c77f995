"""Kernels that compare a frame with the one before, cell by cell."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def differ(before: NDArray[np.uint8], after: NDArray[np.uint8], least: float) -> bool:
    """Tell whether the greys of some cell and its neighbours, 3x3, differ by so much on average.

    before, after : uint8[h, w], at least two rows and columns. Beyond the border cells are mirrored.
    """
    height, width = after.shape
    for y in range(height):
        for x in range(width):
            total = 0.0
            for i in range(y - 1, y + 2):
                row = height - 2 if i == height else abs(i)
                for j in range(x - 1, x + 2):
                    column = width - 2 if j == width else abs(j)
                    total += abs(float(before[row, column]) - float(after[row, column]))
            if total >= 9 * least:
                return True
    return False


@njit(cache=True, nogil=True)
def follow(
    flow: NDArray[np.float32],
    before: NDArray[np.uint8],
    after: NDArray[np.uint8],
    columns: NDArray[np.float32],
    rows: NDArray[np.float32],
    unlike: NDArray[np.float32],
) -> float:
    """Write where each cell lay, and how much its grey differs from there; return the mean way, in cells.

    flow : float32[h, w, 2], from each cell to where it lay. before, after : greys, uint8[h, w].
    columns, rows, unlike : float32[h, w], written.
    """
    height, width = after.shape
    way = 0.0
    for y in range(height):
        for x in range(width):
            across, down = flow[y, x, 0], flow[y, x, 1]
            way += np.sqrt(across * across + down * down)
            column, row = x + across, y + down
            columns[y, x], rows[y, x] = column, row
            column = min(max(column, np.float32(0)), np.float32(width - 1))
            row = min(max(row, np.float32(0)), np.float32(height - 1))
            left, top = int(column), int(row)
            right, bottom = min(left + 1, width - 1), min(top + 1, height - 1)
            u, v = column - left, row - top
            upper = (1 - u) * before[top, left] + u * before[top, right]
            lower = (1 - u) * before[bottom, left] + u * before[bottom, right]
            unlike[y, x] = abs((1 - v) * upper + v * lower - after[y, x])
    return float(way / (height * width))


@njit(cache=True, nogil=True)
def match(
    columns: NDArray[np.float32],
    rows: NDArray[np.float32],
    unlike: NDArray[np.float32],
    half: float,
    matched: NDArray[np.float32],
) -> None:
    """Write how well each cell matches where it lay, float32[h, w]: 0 where that is outside of the frame.

    half : the difference in grey at which a cell counts half.
    """
    height, width = unlike.shape
    for y in range(height):
        for x in range(width):
            column, row = columns[y, x], rows[y, x]
            inside = -0.5 <= column <= width - 0.5 and -0.5 <= row <= height - 0.5
            share = unlike[y, x] / half
            matched[y, x] = 1 / (1 + share * share) if inside else 0
