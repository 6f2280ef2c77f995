"""The inner loop of the confusion matrix."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def tally(truth: NDArray[np.int16], labels: NDArray[np.int16], counts: NDArray[np.int64]) -> int:
    """Add every pixel of known truth to counts[classes, classes + 1]; return how many ids had no cell.

    A label of -1 goes to the last column.
    """
    n_classes = counts.shape[0]
    strays = 0
    for y in range(truth.shape[0]):
        for x in range(truth.shape[1]):
            true = truth[y, x]
            if true == -1:
                continue
            label = labels[y, x]
            if 0 <= true < n_classes and -1 <= label < n_classes:
                counts[true, label if label >= 0 else n_classes] += 1
            else:
                strays += 1
    return strays
