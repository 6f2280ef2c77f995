"""Kernels that turn a network's scores into probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def below_highest(values: Array, below: Array, lowest: Any) -> None:
    """How far the first columns of float32[n, columns] lie below their highest, into float32[n, classes].

    lowest: no value counts as lower than this.
    """
    for row in range(below.shape[0]):
        highest = values[row, 0]
        for k in range(1, below.shape[1]):
            highest = max(highest, values[row, k])
        for k in range(below.shape[1]):
            below[row, k] = max(values[row, k] - highest, lowest)


@njit(cache=True, nogil=True)
def put_shares(masses: Array, values: Array) -> None:
    """Each of float32[n, classes] over its row's sum, into the first columns of float32[n, columns]."""
    for row in range(masses.shape[0]):
        total = np.float32(0)
        for k in range(masses.shape[1]):
            total += masses[row, k]
        for k in range(masses.shape[1]):
            values[row, k] = masses[row, k] / total
