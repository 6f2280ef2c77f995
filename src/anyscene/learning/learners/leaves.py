"""Active leaves of several images as rows to fit trees to: a row is a leaf, and weighs what its area says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anyscene.learning.corpus import Corpus, Example
from anyscene.learning.learners.binning import BELIEF_BINS
from anyscene.learning.learners.blending import Blend, fit_blend
from anyscene.learning.learners.boosting import Rows
from anyscene.model.chain import PARENT_BELIEF
from anyscene.model.state import State

WEIGHT_POWER = 0.5
"""A leaf weighs its area to this power: neighbours in a large region have little to add to one another."""


@dataclass(frozen=True)
class Layout:
    """Which column of a table of leaves comes from where.

    inputs : the source (a feature set's index, or PARENT_BELIEF) of each column, and its column there.
    """

    inputs: tuple[tuple[int, int], ...]

    def columns_of(self, sources: Sequence[int]) -> NDArray[np.int32]:
        """The table's columns that come from these sources."""
        return np.array([i for i, (source, _) in enumerate(self.inputs) if source in sources], np.int32)


def layout_of(corpus: Corpus) -> Layout:
    """Parents' beliefs first, then every feature set."""
    belief = [(PARENT_BELIEF, column) for column in range(corpus.classes)]
    widths = [len(corpus.bins[name].edges) for name in corpus.sets]
    return Layout((*belief, *((s, column) for s, width in enumerate(widths) for column in range(width))))


@dataclass(frozen=True)
class LeafRows:
    """Active leaves, one a row.

    binned : uint8[n, D], columns as in a `Layout`. truth, belief : float32[n, C].
    share : float32[n], the leaf's share of its image's labelled pixels, larger where leaves were left out.
    fold : int64[n], of its image. chances : what parents' beliefs and every network give each class,
    float32[n, C], by source.
    """

    binned: NDArray[np.uint8]
    truth: NDArray[np.float32]
    belief: NDArray[np.float32]
    share: NDArray[np.float32]
    fold: NDArray[np.int64]
    chances: Mapping[int, NDArray[np.float32]]

    @cached_property
    def weight(self) -> NDArray[np.float32]:
        """What each row weighs in a fit, 1 on average: regularisation counts leaves."""
        weight = self.share**WEIGHT_POWER
        return np.asarray(weight / max(float(weight.mean()), 1e-12), np.float32)

    @property
    def cross_entropy(self) -> float:
        """The rows' part in that of all images."""
        return float(self.share @ -np.einsum("ik,ik->i", self.truth, np.log(self.belief)))

    def some(self, chosen: NDArray[np.bool_]) -> LeafRows:
        """Some of the leaves."""
        return LeafRows(
            self.binned[chosen],
            self.truth[chosen],
            self.belief[chosen],
            self.share[chosen],
            self.fold[chosen],
            {source: chances[chosen] for source, chances in self.chances.items()},
        )

    def blend(self, sources: Sequence[int], prior: NDArray[np.float32]) -> Blend:
        """Fit a blend of sources that speak of classes."""
        chances = [self.chances[source] for source in sources]
        return fit_blend(self.truth, self.share, chances, prior, rare_power=0.0)

    def blended(self, blend: Blend, sources: Sequence[int]) -> LeafRows:
        """The leaves after a blend."""
        return replace(self, belief=blend.beliefs([self.chances[source] for source in sources]))

    def halfway(self, prior: NDArray[np.float32]) -> LeafRows:
        """The leaves with beliefs halfway to the prior; see `blending.halfway`."""
        between = np.sqrt(self.belief * prior)
        return replace(self, belief=between / between.sum(axis=1, keepdims=True))

    def rows(self) -> Rows:
        """The leaves as rows to fit trees to, with beliefs of their own to change."""
        return Rows(self.binned, self.truth, self.belief.copy(), self.weight)


def draw_leaves(
    corpus: Corpus,
    examples: Sequence[Example],
    states: Sequence[State],
    folds: NDArray[np.int64],
    most: int,
    random: np.random.Generator,
) -> LeafRows:
    """Take labelled active leaves of these images, at most about so many, at random."""
    active = sum(int(np.count_nonzero(state.active)) for state in states)
    keep = min(1.0, most / max(active, 1))
    tables, masses, beliefs, counts = [], [], [], []
    chances: dict[int, list[NDArray[np.float32]]] = {s: [] for s in (PARENT_BELIEF, *corpus.networks)}
    for example, state in zip(examples, states, strict=True):
        mass = example.truth.mass[state.leaves]
        chosen = state.active & (mass.sum(axis=1) > 0)
        if keep < 1:
            chosen &= random.random(len(chosen)) < keep
        nodes = state.leaves[chosen]
        parent_belief = state.parent_belief[chosen]
        parents = BELIEF_BINS.apply(parent_belief.reshape(-1, 1)).reshape(-1, corpus.classes)
        chances[PARENT_BELIEF].append(parent_belief)
        for source in corpus.networks:
            said = example.evidence.class_scores(corpus.sets[source], nodes, corpus.classes)
            chances[source].append(said)
        tables.append(np.hstack([parents, *(example.evidence.features[name][nodes] for name in corpus.sets)]))
        masses.append(mass[chosen])
        beliefs.append(state.belief[chosen])
        counts.append(len(nodes))
    mass = np.concatenate(masses)
    share = mass.sum(axis=1)
    return LeafRows(
        binned=np.concatenate(tables),
        truth=mass / share[:, None],
        belief=np.concatenate(beliefs),
        share=(share / keep).astype(np.float32),
        fold=np.repeat(folds, counts),
        chances={source: np.concatenate(parts) for source, parts in chances.items()},
    )
