"""How images judge what was learned: by pixels and classes, by areas under curves, and how surely."""

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

TINY = 1e-9
"""Shares of an image below this are rounding."""

NEIGHBOURS = 10
"""Images that follow each other within so many may be of one drive, and hardly two judges."""


def merit(confusion: NDArray[np.floating]) -> float:
    """The mean of pixel accuracy and mean IoU.

    Pixels alone are won by naming frequent classes; most of what is asked for is rare.

    confusion : [C, C], what there is of each true class (row) under each label (column).
    """
    return float(_merits(np.asarray(confusion, np.float64)[None])[0])


def merits_by_image(confusions: NDArray[np.floating]) -> NDArray[np.float64]:
    """What each image says of the merit of all, float64[n]: their mean is about the merit of all together.

    Mean IoU is of all images together: most show few classes. So an image counts by what is missing without
    it (the jackknife's pseudo-values, Tukey 1958).

    confusions : [n, C, C], one for each image.
    """
    own = np.asarray(confusions, np.float64)
    together = own.sum(axis=0)
    without = _merits(together - own, known=together)
    return len(own) * merit(together) - (len(own) - 1) * without


def _merits(confusions: NDArray[np.float64], known: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Merits of confusion matrices, float64[n]; of classes that one does not show, `known` says the IoU."""
    known = confusions.sum(axis=0) if known is None else known
    right = np.diagonal(confusions, axis1=1, axis2=2)
    shown = confusions.sum(axis=2)
    union = shown + confusions.sum(axis=1) - right
    usual = np.diagonal(known) / np.maximum(known.sum(axis=1) + known.sum(axis=0) - np.diagonal(known), TINY)
    iou = np.where(shown > TINY, right / np.maximum(union, TINY), usual)[:, known.sum(axis=1) > TINY]
    pixel = right.sum(axis=1) / np.maximum(shown.sum(axis=1), TINY)
    return np.asarray((pixel + iou.mean(axis=1)) / 2)


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
