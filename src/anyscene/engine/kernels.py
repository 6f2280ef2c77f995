"""Compiled loops of the engine: reading features of mixed layers."""

from __future__ import annotations

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
