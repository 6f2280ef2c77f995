"""From a network's scores to probabilities."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.features.hypercolumn import probability_kernels as kernels


def make_probabilities(scores: NDArray[np.float32], classes: int) -> None:
    """Turn the first `classes` of a map's scores, float32[h, w, columns], into probabilities, in place."""
    rows = scores.reshape(-1, scores.shape[2])
    masses = np.empty((len(rows), classes), np.float32)
    kernels.below_highest(rows, masses, np.float32(-np.inf))
    cv2.exp(masses, dst=masses)  # faster than a compiled loop
    kernels.put_shares(masses, rows)


def floored_scores(scores: NDArray[np.float32], classes: int, lowest: float) -> NDArray[np.float32]:
    """How far the first `classes` scores of each cell lie below their highest, float32[h, w, classes].

    lowest: no score counts as lower than this.
    """
    height, width, columns = scores.shape
    below = np.empty((height * width, classes), np.float32)
    kernels.below_highest(scores.reshape(-1, columns), below, np.float32(lowest))
    return below.reshape(height, width, classes)
