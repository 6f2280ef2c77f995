"""How images judge sequences and policies: by the areas under their curves, and by how sure those are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BEYOND = 1.5
"""Curves count up to this many times the full cost of the dearest sequence: what they end with counts."""

SHORTFALL = 0.1
"""Weight of the largest shortfall against S-M, at any budget, beside the area under the curve."""

SOONER = 0.05
"""Weight of how much sooner S-M's best accuracy is there: the area hardly counts what is saved at the end."""

STEP_WORTH = 0.0005
"""What a step more has to add: smaller gains on some dozen images are not there on new ones."""

DECIDING = 0.0005
"""What looking at states must add to following a guide of blends, which needs none: labeling then works them
out at every step, which costs do not count (`LearnedPolicy.simplified`).
"""

CAUTION = 0.5
"""Policies are ranked by their score less so many standard errors of what they gain on S-M."""

LIKELY, ONCE, TWICE = 0.5, 1.0, 2.0
"""Standard errors by which a gain must exceed chance, from a plan for time that nothing else can use to a
policy that goes on where its guide ends.
"""

NEIGHBOURS = 10
"""Images that follow each other within so many may be of one drive, and hardly two judges."""


def surely_above(gain: NDArray[np.float64], least: float = 0.0, errors: float = ONCE) -> bool:
    """Whether the mean of images' gains is above `least`, and above chance by so many standard errors."""
    return bool(gain.mean() > max(least, errors * standard_error(gain)))


def standard_error(values: NDArray[np.float64]) -> float:
    """The standard error of the mean of values of which neighbours may be alike (Newey and West's).

    Never less than if they were unrelated: likeness is hard to estimate from few.
    """
    off = values - values.mean()
    lags = min(NEIGHBOURS, len(off) // 4)
    unrelated = float(off @ off)
    alike = sum((1 - lag / (lags + 1)) * float(off[lag:] @ off[:-lag]) for lag in range(1, lags + 1))
    return float(np.sqrt(unrelated + 2 * max(alike, 0.0))) / len(off)
