"""The labelled images that a model is learned from, as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.learning.binning import Bins
from anyscene.model.evidence import ArrayEvidence
from anyscene.model.loss import Truth

HELD_OUT = -1
"""The fold of images that weak learners are not fitted to."""


@dataclass(frozen=True)
class Example:
    """One labelled image, its features binned (uint8). fold : HELD_OUT, or its part of the fitted images."""

    id: str
    evidence: ArrayEvidence
    truth: Truth
    fold: int


@dataclass(frozen=True)
class Corpus:
    """Images to learn from; `held_out` judges when to stop and what to keep, and is never fitted to.

    sets : names of the feature sets in use. bins : where their columns were cut.
    folds : into how many parts `fit` is divided, whole drives or runs of neighbouring images.
    """

    fit: tuple[Example, ...]
    held_out: tuple[Example, ...]
    folds: int
    sets: tuple[str, ...]
    bins: Mapping[str, Bins]
    classes: int
    layer_count: int

    def policy_parts(self) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
        """Held-out images to explore on and to judge policies by, in alternating runs of neighbours.

        A policy must learn what actions are worth on images that weak learners were not fitted to: on their
        own images every weak learner looks better than it is.
        """
        run = max(1, min(10, len(self.held_out) // 4))
        turn = (np.arange(len(self.held_out)) // run) % 2
        explored, judging = (
            tuple(e for e, t in zip(self.held_out, turn, strict=True) if t == wanted) for wanted in (1, 0)
        )
        return explored, judging

    def prior(self) -> NDArray[np.float32]:
        """Share of each class among the labelled pixels of the fitted images, float32[C]."""
        shares = np.mean([example.truth.mass[0] for example in self.fit], axis=0, dtype=np.float64)
        shares = np.maximum(shares, 1e-4)
        return np.asarray(shares / shares.sum(), np.float32)


def assign_folds(count: int, folds: int, held_out_share: float, block: int = 20) -> NDArray[np.int64]:
    """Divide images, in their order, into `folds` and HELD_OUT, in runs of neighbours, int64[count].

    Neighbours in a video look alike, so runs go to one side whole. Every part gets at least one image of
    enough of them.
    """
    block = max(1, min(block, count // (3 * (folds + 1))))
    runs = np.arange(count) // block
    # Runs whose share of held-out ones would otherwise fall behind.
    held = np.floor((runs + 1) * held_out_share) > np.floor(runs * held_out_share)
    rank = np.cumsum(~held) - 1
    fold = rank * folds // max(1, int((~held).sum()))
    return np.where(held, HELD_OUT, fold)
