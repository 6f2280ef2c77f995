"""Kernels that give pixels the values of what they lie in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def paint(
    regions: NDArray[np.int32],
    values: NDArray[Any],
    rows: NDArray[np.int32],
    columns: NDArray[np.int32],
    out: NDArray[Any],
) -> None:
    """Give every pixel of `out` the value of the region in its block of the grid `regions`.

    Rows of pixels that share a row of blocks are copies of the first.

    rows, columns: the block of each row and column of `out`, in rising order.
    """
    width = len(columns)
    for y in range(len(rows)):
        line = out[y]
        if y and rows[y] == rows[y - 1]:
            above = out[y - 1]
            for x in range(width):  # an assignment of slices takes five times as long
                line[x] = above[x]
        else:
            blocks = regions[rows[y]]
            for x in range(width):
                line[x] = values[blocks[columns[x]]]


@njit(cache=True, nogil=True)
def repeat(
    values: NDArray[Any], rows: NDArray[np.int32], columns: NDArray[np.int32], out: NDArray[Any]
) -> None:
    """Give every pixel of `out` the value at its row and column of `values`, which both rise."""
    for y in range(len(rows)):
        line = out[y]
        if y and rows[y] == rows[y - 1]:
            above = out[y - 1]
            for x in range(len(columns)):
                line[x] = above[x]
        else:
            row = values[rows[y]]
            for x in range(len(columns)):
                line[x] = row[columns[x]]
