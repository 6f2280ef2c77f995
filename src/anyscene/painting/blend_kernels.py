"""Kernels that add what leaves believe to the scores of cells."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def add_row(scores: NDArray[np.float32], row: NDArray[np.float32]) -> None:
    """Add the same, float32[C], to the scores of every cell, float32[h, w, C]."""
    for y in range(scores.shape[0]):
        for x in range(scores.shape[1]):
            for k in range(scores.shape[2]):
                scores[y, x, k] += row[k]


@njit(cache=True, nogil=True)
def add_leaf_scores(
    scores: NDArray[np.float32], of_leaf: NDArray[np.float32], leaf_of_cell: NDArray[np.int32]
) -> None:
    """Add to the scores of each cell, float32[h, w, C], those of its leaf."""
    for y in range(scores.shape[0]):
        for x in range(scores.shape[1]):
            leaf = leaf_of_cell[y, x]
            for k in range(of_leaf.shape[1]):
                scores[y, x, k] += of_leaf[leaf, k]
