"""The labelled images that a model is learned from, as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anyscene.learning.learners.binning import Bins
from anyscene.model.evidence import ArrayEvidence
from anyscene.model.loss import Truth


@dataclass(frozen=True)
class Example:
    """One labelled image, its features binned (uint8)."""

    id: str
    evidence: ArrayEvidence
    truth: Truth


@dataclass(frozen=True)
class Corpus:
    """Images to learn from; `held_out` judges when to stop and what to keep, and is never fitted to.

    sets : names of the feature sets in use. speaking : those that give class probabilities themselves.
    networks : those that are a network's scores, from coarse to fine. ladder : the networks, where their maps
    show detail within leaves. bins : where columns were cut.
    """

    fit: tuple[Example, ...]
    held_out: tuple[Example, ...]
    sets: tuple[str, ...]
    speaking: frozenset[str]
    networks: tuple[int, ...]
    ladder: tuple[int, ...]
    bins: Mapping[str, Bins]
    classes: int
    layer_count: int

    @property
    def explored(self) -> tuple[Example, ...]:
        """Held-out images to explore on: every second run of neighbours. All of them judge policies.

        A policy must learn what actions are worth on images that weak learners were not fitted to: on their
        own images every weak learner looks better than it is.
        """
        run = max(1, min(10, len(self.held_out) // 4))
        turn = (np.arange(len(self.held_out)) // run) % 2
        return tuple(example for example, t in zip(self.held_out, turn, strict=True) if t)

    def some_fitted(self, count: int) -> tuple[Example, ...]:
        """So many of the fitted images, evenly spaced."""
        return self.fit[:: max(1, len(self.fit) // max(1, count))][:count]

    @cached_property
    def prior(self) -> NDArray[np.float32]:
        """Share of each class among the labelled pixels of the fitted images, float32[C]."""
        shares = np.mean([example.truth.mass[0] for example in self.fit], axis=0, dtype=np.float64)
        shares = np.maximum(shares, 1e-4)
        return np.asarray(shares / shares.sum(), np.float32)
