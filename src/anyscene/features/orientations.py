"""Histograms of directions, as HOG and SIFT use them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def fold_directions(histograms: NDArray[np.float32]) -> NDArray[np.float32]:
    """Make [..., bins + 1] into [..., bins]: the last bin is the first one, a turn later."""
    folded = np.ascontiguousarray(histograms[..., :-1])
    folded[..., 0] += histograms[..., -1]
    return folded
