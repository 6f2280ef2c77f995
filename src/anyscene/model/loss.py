"""Labeling loss, reward and value (section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.model.shown import Shown


@dataclass(frozen=True)
class Truth:
    """What is true of one image's regions; void pixels carry no weight.

    mass : float32[n, C], for each node, the share w·p of the image's labelled pixels that lie in it and have
    each class. A layer's entries sum to 1 (to 0 when nothing is labelled).
    impurity : float32[n], w·H(p) of each node.
    """

    mass: NDArray[np.float32]
    impurity: NDArray[np.float32]


def truth_from_counts(counts: NDArray[np.integer]) -> Truth:
    """Make the truth from labelled pixels per node and class, int[n, C]; node 0 is the whole image."""
    mass = counts / max(int(counts[0].sum()), 1)
    weight = mass.sum(axis=1, keepdims=True)
    p = np.divide(mass, weight, out=np.ones_like(mass), where=mass > 0)
    impurity = -(mass * np.log(p)).sum(axis=1)
    return Truth(mass.astype(np.float32), impurity.astype(np.float32))


def labeling_loss(seen: Shown, truth: Truth, alpha: float) -> float:
    """Cross-entropy of the beliefs plus α times the regions' impurity (Eq. 3).

    The second term is added so that mixed regions cost more, as the paper's text says.
    """
    cross_entropy = -float(np.einsum("ik,ik->", truth.mass[seen.nodes], seen.log_belief, dtype=np.float64))
    return cross_entropy + alpha * float(np.sum(truth.impurity[seen.nodes], dtype=np.float64))


def pixel_accuracy(seen: Shown, truth: Truth) -> float:
    """Share of the labelled pixels whose most likely label is right."""
    return float(np.sum(truth.mass[seen.nodes, seen.labels], dtype=np.float64))


def confusion(seen: Shown, truth: Truth) -> NDArray[np.float64]:
    """Share of the labelled pixels by true class (row) and most likely label (column), float64[C, C]."""
    mass = truth.mass[seen.nodes].astype(np.float64)
    return np.asarray(mass.T @ np.eye(mass.shape[1])[seen.labels])


def reward(loss_before: float, loss_after: float, cost: float) -> float:
    """The loss that an action saves per millisecond (Eq. 4)."""
    return (loss_before - loss_after) / cost


def returns(rewards: Sequence[float], gamma: float) -> NDArray[np.float64]:
    """Q of each step of a trajectory: R + γ·[Q']₊, nothing after the last (Eq. 10).

    Where no reward is negative, this is the value function of Eq. 5.
    """
    values = np.zeros(len(rewards))
    following = 0.0
    for t in range(len(rewards) - 1, -1, -1):
        values[t] = rewards[t] + gamma * max(following, 0.0)
        following = values[t]
    return values
