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
    sums = np.empty(width + 2, np.int32)  # of three rows, with a mirrored column at either end
    for y in range(height):
        above, below = abs(y - 1), height - 2 if y + 1 == height else y + 1
        for x in range(width):
            sums[x + 1] = (
                abs(np.int32(before[above, x]) - np.int32(after[above, x]))
                + abs(np.int32(before[y, x]) - np.int32(after[y, x]))
                + abs(np.int32(before[below, x]) - np.int32(after[below, x]))
            )
        sums[0], sums[width + 1] = sums[2], sums[width - 1]
        most = np.int32(0)
        for x in range(width):
            most = max(most, sums[x] + sums[x + 1] + sums[x + 2])
        if most >= 9 * least:
            return True
    return False


@njit(cache=True, nogil=True, error_model="numpy")
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
    one, most_across, most_down = np.float32(1), np.float32(width - 1), np.float32(height - 1)
    way = 0.0
    for y in range(height):
        for x in range(width):
            across, down = flow[y, x, 0], flow[y, x, 1]
            way += np.sqrt(across * across + down * down)
            column, row = np.float32(x) + across, np.float32(y) + down
            columns[y, x], rows[y, x] = column, row
            column = min(max(column, np.float32(0)), most_across)
            row = min(max(row, np.float32(0)), most_down)
            left, top = np.int32(column), np.int32(row)
            right, bottom = min(left + 1, width - 1), min(top + 1, height - 1)
            u, v = column - np.float32(left), row - np.float32(top)
            upper = (one - u) * np.float32(before[top, left]) + u * np.float32(before[top, right])
            lower = (one - u) * np.float32(before[bottom, left]) + u * np.float32(before[bottom, right])
            unlike[y, x] = abs((one - v) * upper + v * lower - np.float32(after[y, x]))
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


@njit(cache=True, nogil=True, error_model="numpy")
def mean_doubt(
    trust: NDArray[np.float32],
    columns: NDArray[np.float32],
    rows: NDArray[np.float32],
    matched: NDArray[np.float32],
) -> float:
    """How little moved beliefs are trusted, 1 / (1 + trust), as a mean over every second row and column.

    trust : float32[h, w], where beliefs came from. columns, rows, matched : float32[h, w], of a motion.
    """
    height, width = matched.shape
    total = 0.0
    for y in range(0, height, 2):
        for x in range(0, width, 2):
            row = min(max(int(rows[y, x] + np.float32(0.5)), 0), height - 1)
            column = min(max(int(columns[y, x] + np.float32(0.5)), 0), width - 1)
            total += 1 / (1 + trust[row, column] * matched[y, x])
    return float(total / (((height + 1) // 2) * ((width + 1) // 2)))
