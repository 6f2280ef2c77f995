"""Compiled loops of the engine: reading features of mixed layers, painting leaves at any size."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def gather_layer(
    features: NDArray[np.float32],
    nodes: NDArray[np.int32],
    start: int,
    columns: NDArray[np.int32],
    values: NDArray[np.float32],
) -> None:
    """Fill the rows of `values` whose nodes belong to the layer of `features`, which begins at `start`."""
    end = start + features.shape[0]
    for i in range(len(nodes)):
        node = nodes[i]
        if start <= node < end:
            for j in range(len(columns)):
                values[i, j] = features[node - start, columns[j]]


@njit(cache=True, nogil=True)
def leaf_of_regions(
    leaves: NDArray[np.int32],
    start: NDArray[np.int32],
    child_start: NDArray[np.int32],
    child: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Return the row of the leaf that holds each region of the finest layer, int32[regions].

    start : the first node of each layer, and the node count.
    """
    holder = np.full(start[-1], -1, np.int32)
    for row in range(len(leaves)):
        holder[leaves[row]] = row
    finest = start[-2]
    for node in range(finest):  # parents come before their children
        if holder[node] >= 0:
            for j in range(child_start[node], child_start[node + 1]):
                holder[child[j]] = holder[node]
    return holder[finest:]


@njit(cache=True, nogil=True)
def paint(
    regions: NDArray[np.int32],
    values: NDArray[Any],
    rows: NDArray[np.int32],
    columns: NDArray[np.int32],
    out: NDArray[Any],
) -> None:
    """Give every pixel of `out` the value of the region in its block of the grid `regions`.

    rows, columns : the block of each row and column of `out`, never falling. Rows of pixels that share a row
    of blocks are copies of the first.
    """
    width = len(columns)
    for y in range(len(rows)):
        if y and rows[y] == rows[y - 1]:
            out[y] = out[y - 1]
        else:
            blocks = regions[rows[y]]
            for x in range(width):
                out[y, x] = values[blocks[columns[x]]]
