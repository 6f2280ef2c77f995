"""Compiled loops of both CRFs: kernels added up, beliefs from scores, sums over regions."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def subtract_largest(scores: NDArray[np.float32]) -> None:
    """Shift each row of scores[n, k] so that its largest is 0."""
    for n in range(scores.shape[0]):
        largest = scores[n, 0]
        for k in range(1, scores.shape[1]):
            largest = max(largest, scores[n, k])
        for k in range(scores.shape[1]):
            scores[n, k] -= largest


@njit(cache=True, nogil=True)
def normalise(powers: NDArray[np.float32]) -> None:
    """Divide each row of powers[n, k] by its sum."""
    for n in range(powers.shape[0]):
        total = np.float32(0.0)
        for k in range(powers.shape[1]):
            total += powers[n, k]
        share = np.float32(1.0) / total
        for k in range(powers.shape[1]):
            powers[n, k] *= share


@njit(cache=True, nogil=True)
def sum_over_regions(
    belief: NDArray[np.float32], regions: NDArray[np.int32], count: int
) -> NDArray[np.float32]:
    """Sum the rows of belief[n, k] by region, float32[count, k]."""
    sums = np.zeros((count, belief.shape[1]), np.float32)
    for n in range(belief.shape[0]):
        region = regions[n]
        for k in range(belief.shape[1]):
            sums[region, k] += belief[n, k]
    return sums


@njit(cache=True, nogil=True)
def start_scores(
    data_term: NDArray[np.float32],
    region_term: NDArray[np.float32],
    regions: NDArray[np.int32],
    scores: NDArray[np.float32],
) -> None:
    """Set scores[n, k] to the data term less what the pixel's region asks for each label."""
    for n in range(scores.shape[0]):
        region = regions[n]
        for k in range(scores.shape[1]):
            scores[n, k] = data_term[n, k] - region_term[region, k]


@njit(cache=True, nogil=True)
def add_scaled(
    kernel: NDArray[np.float32],
    row_scale: NDArray[np.float32],
    column_scale: NDArray[np.float32],
    total: NDArray[np.float32],
) -> None:
    """Add row_scaleᵢ · kernelᵢⱼ · column_scaleⱼ to totalᵢⱼ."""
    for i in range(kernel.shape[0]):
        for j in range(kernel.shape[1]):
            total[i, j] += row_scale[i] * kernel[i, j] * column_scale[j]
