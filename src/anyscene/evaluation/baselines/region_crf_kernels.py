"""The compiled loop of the region CRF: Gaussian kernels added up to one matrix of messages."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


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
