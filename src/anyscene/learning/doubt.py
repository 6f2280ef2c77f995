"""How far a mean over images may be off."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NEIGHBOURS = 10
"""Images that follow each other within so many may be of one drive, and hardly two judges."""


def standard_error(values: NDArray[np.float64]) -> float:
    """The standard error of the mean of values of which neighbours may be alike (Newey and West's).

    Never less than if they were unrelated: likeness is hard to estimate from few.
    """
    off = values - values.mean()
    lags = min(NEIGHBOURS, len(off) // 4)
    unrelated = float(off @ off)
    alike = sum((1 - lag / (lags + 1)) * float(off[lag:] @ off[:-lag]) for lag in range(1, lags + 1))
    return float(np.sqrt(unrelated + 2 * max(alike, 0.0))) / len(off)
