"""The compiled loop of the region CRF: two Gaussian kernels made into one matrix of messages."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def combine(
    first: NDArray[np.float32],
    second: NDArray[np.float32],
    first_scale: NDArray[np.float32],
    second_scale: NDArray[np.float32],
) -> None:
    """Replace `first` by sᵢ·first·sⱼ + tᵢ·second·tⱼ, with zeros on the diagonal."""
    for i in range(first.shape[0]):
        for j in range(first.shape[1]):
            first[i, j] = first_scale[i] * first_scale[j] * first[i, j] + (
                second_scale[i] * second_scale[j] * second[i, j]
            )
        first[i, i] = 0
