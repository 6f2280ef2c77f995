"""How sure labels are: the probability that each is right."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.features.hypercolumn.probabilities import make_probabilities


def temper(chance: NDArray[np.float32], temperature: float) -> NDArray[np.float32]:
    """The confidence in an answer that beliefs give this chance: its odds to the power 1/T, as a chance."""
    power = np.float32(1 / temperature)
    right, wrong = chance**power, np.maximum(1 - chance, np.float32(0)) ** power
    return np.asarray(right / (right + wrong), np.float32)


def confidence_between(
    scores: NDArray[np.float32], temperature: float, size: tuple[int, int]
) -> NDArray[np.float32]:
    """The confidence float32[H, W] in the labels of pixels between cells with scores float32[h, w, C]."""
    sure = temper(cell_beliefs(scores).max(axis=2), temperature)
    enlarged = cv2.resize(sure, (size[1], size[0]), interpolation=cv2.INTER_LINEAR)
    return np.asarray(enlarged, np.float32)


def cell_beliefs(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Beliefs float32[h, w, C] of cells with these log-beliefs, which need not be normalised."""
    belief = scores.copy()
    make_probabilities(belief, belief.shape[2])
    return belief
