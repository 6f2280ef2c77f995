"""Adding up what is known of regions over the layers of a tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def totals_of_layers(
    finest: NDArray[np.int64], parents: Sequence[NDArray[np.int32]]
) -> list[NDArray[np.int64]]:
    """Sum rows of the finest regions up the tree; returns int64[n_k, C] for each layer, coarse first.

    finest : int64[n, C], a row for each region of the finest layer.
    parents : for each layer, the region of the layer above, as in `Tree.parents`.
    """
    layers = [finest]
    for layer in range(len(parents) - 1, 0, -1):
        above = np.zeros((len(parents[layer - 1]), finest.shape[1]), np.int64)
        np.add.at(above, parents[layer], layers[0])
        layers.insert(0, above)
    return layers
