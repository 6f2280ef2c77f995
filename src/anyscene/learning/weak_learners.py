"""Chains of weak learners for the active leaves, chosen with their cost in view (4.1, Greedy Miser)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from anyscene.learning import grower_kernels
from anyscene.learning.binning import MAX_BINS, Bins
from anyscene.learning.boosting import BoostingSettings, Rows, Tree, boost
from anyscene.learning.corpus import HELD_OUT, Corpus, Example
from anyscene.model.chain import PARENT_BELIEF, Chain
from anyscene.model.state import State

BELIEF_BINS = Bins(np.square(np.arange(1, MAX_BINS) / MAX_BINS)[None].astype(np.float32))
"""Parents' beliefs are cut at fixed places, denser where a class is unlikely."""


@dataclass(frozen=True)
class LearnerSettings:
    """How chains are fitted.

    weight_power : a region weighs its area to this power. columns : most inputs a chain chooses from.
    """

    sizes: tuple[int, ...] = (1, 5, 10, 20)
    samples: int = 60_000
    screening_samples: int = 20_000
    columns: int = 48
    weight_power: float = 0.5
    boosting: BoostingSettings = field(default_factory=BoostingSettings)


@dataclass(frozen=True)
class FoldedChain:
    """A chain as learning holds it.

    chain : thresholds of features are bins, values are from all rows.
    fold_values : float32[F, n, C], values that leave out the images of each fold.
    """

    chain: Chain
    fold_values: NDArray[np.float32]

    def for_fold(self, fold: int) -> Chain:
        """The chain as images of this fold see it."""
        return self.chain if fold == HELD_OUT else replace(self.chain, value=self.fold_values[fold])

    def deployed(self, sets: Sequence[str], bins: dict[str, Bins]) -> Chain:
        """The chain for features as they are, not binned."""
        threshold = self.chain.threshold.copy()
        for node in np.flatnonzero(self.chain.left >= 0):
            source = self.chain.source[self.chain.feature[node]]
            if source != PARENT_BELIEF:
                column = self.chain.column[self.chain.feature[node]]
                threshold[node] = bins[sets[source]].edges[column, int(threshold[node])]
        return replace(self.chain, threshold=threshold)


@dataclass(frozen=True)
class Sample:
    """Active leaves of several images, one a row.

    truth, belief, parent_belief : float32[n, C]. share : float32[n], share of its image's labelled pixels.
    fold : int8[n]. nodes : the leaves of each image. images : how many images there are.
    """

    examples: tuple[Example, ...]
    nodes: tuple[NDArray[np.int32], ...]
    truth: NDArray[np.float32]
    belief: NDArray[np.float32]
    parent_belief: NDArray[np.float32]
    share: NDArray[np.float32]
    fold: NDArray[np.int8]

    def rows(self, binned: NDArray[np.uint8], weight_power: float) -> Rows:
        """The sample as rows to fit trees to; beliefs are copied."""
        weight = self.share**weight_power
        return Rows(binned, self.truth, self.belief.copy(), weight / weight.mean(), self.fold)

    def columns_of(self, source: int, sets: Sequence[str]) -> NDArray[np.uint8]:
        """The bins of one source's columns, uint8[n, D]."""
        if source == PARENT_BELIEF:
            flat = BELIEF_BINS.apply(self.parent_belief.reshape(-1, 1))
            return flat.reshape(self.parent_belief.shape)
        features = [
            e.evidence.features[sets[source]][n] for e, n in zip(self.examples, self.nodes, strict=True)
        ]
        return np.concatenate(features)


def draw_sample(
    examples: Sequence[Example], states: Sequence[State], most: int, random: np.random.Generator
) -> Sample:
    """Take the labelled active leaves of these images, at most about so many, at random."""
    active = sum(int(state.active.sum()) for state in states)
    keep = min(1.0, most / max(active, 1))
    parts = []
    for example, state in zip(examples, states, strict=True):
        mass = example.truth.mass[state.leaves]
        chosen = state.active & (mass.sum(axis=1) > 0)
        if keep < 1:
            chosen &= random.random(len(chosen)) < keep
        share = mass[chosen].sum(axis=1)
        parts.append((state.leaves[chosen], mass[chosen] / share[:, None], state, chosen, share))
    return Sample(
        examples=tuple(examples),
        nodes=tuple(part[0] for part in parts),
        truth=np.concatenate([part[1] for part in parts]),
        belief=np.concatenate([state.belief[chosen] for _, _, state, chosen, _ in parts]),
        parent_belief=np.concatenate([state.parent_belief[chosen] for _, _, state, chosen, _ in parts]),
        share=(np.concatenate([part[4] for part in parts]) / keep).astype(np.float32),
        fold=np.repeat([max(example.fold, 0) for example in examples], [len(p[0]) for p in parts]).astype(
            np.int8
        ),
    )


@dataclass(frozen=True)
class Candidate:
    """Sources for a chain. gain : what one shallow tree on them takes off an image's loss, in nats."""

    sources: tuple[int, ...]
    inputs: tuple[tuple[int, int], ...]
    gain: float


def screen(
    sample: Sample,
    in_hand: Sequence[int],
    corpus: Corpus,
    settings: LearnerSettings,
    random: np.random.Generator,
) -> list[Candidate]:
    """Try the sets in hand alone, and with each other set in turn, by one shallow tree each."""
    binned = {s: sample.columns_of(s, corpus.sets) for s in (PARENT_BELIEF, *range(len(corpus.sets)))}
    gains = {s: _column_gains(sample, columns, settings) for s, columns in binned.items()}
    shallow = replace(settings.boosting, depth=2, shrinkage=1.0, row_share=1.0, column_share=1.0)
    base = (PARENT_BELIEF, *in_hand)
    others = [s for s in range(len(corpus.sets)) if s not in in_hand]
    candidates = []
    for sources in [base, *((*base, other) for other in others)]:
        inputs = [(s, column) for s in sources for column in range(binned[s].shape[1])]
        best = np.argsort([-gains[s][column] for s, column in inputs], kind="stable")[: settings.columns]
        chosen = tuple(inputs[i] for i in sorted(best.tolist()))
        x = np.column_stack([binned[s][:, column] for s, column in chosen])
        rows = sample.rows(np.ascontiguousarray(x), settings.weight_power)
        before = _image_loss(sample, rows.belief)
        boost(rows, 1, corpus.folds, shallow, random)
        candidates.append(Candidate(sources, chosen, before - _image_loss(sample, rows.belief)))
    return candidates


def choose_candidates(
    candidates: Sequence[Candidate], costs: Sequence[float], lambdas: Sequence[float]
) -> list[Candidate]:
    """Pick, for each λ, the candidate of largest gain − λ·cost, each at most once.

    The λs are multiples of the best gain per millisecond there is, so that they mean the same at every step.
    """
    gains, milliseconds = np.array([c.gain for c in candidates]), np.array(costs)
    best_rate = max(float(np.max(gains / milliseconds)), 0.0)
    picked = dict.fromkeys(int(np.argmax(gains - factor * best_rate * milliseconds)) for factor in lambdas)
    return [candidates[i] for i in picked]


def fit_chain(
    sample: Sample,
    held_out: Sample,
    candidate: Candidate,
    corpus: Corpus,
    settings: LearnerSettings,
    random: np.random.Generator,
) -> FoldedChain | None:
    """Fit a chain on a candidate's inputs, ended where held-out loss is lowest; None if no tree helps."""
    rows, fresh = (
        part.rows(_inputs(part, candidate.inputs, corpus.sets), settings.weight_power)
        for part in (sample, held_out)
    )
    trees = boost(rows, max(settings.sizes), corpus.folds, settings.boosting, random, fresh)
    return _flatten(trees, candidate.inputs, corpus.folds) if trees else None


def _inputs(sample: Sample, inputs: Sequence[tuple[int, int]], sets: Sequence[str]) -> NDArray[np.uint8]:
    sources = sorted({source for source, _ in inputs})
    binned = {source: sample.columns_of(source, sets) for source in sources}
    return np.ascontiguousarray(np.column_stack([binned[source][:, column] for source, column in inputs]))


def _flatten(trees: Sequence[Tree], inputs: Sequence[tuple[int, int]], folds: int) -> FoldedChain:
    """Lay trees end to end; inputs that no tree looks at are dropped."""
    sizes = np.array([len(tree.feature) for tree in trees])
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    inner = [tree.left >= 0 for tree in trees]
    used = np.unique(np.concatenate([tree.feature[mask] for tree, mask in zip(trees, inner, strict=True)]))
    position = np.zeros(len(inputs), np.int32)
    position[used] = np.arange(len(used))
    source = np.array([inputs[i][0] for i in used], np.int16)
    column = np.array([inputs[i][1] for i in used], np.int32)
    feature = np.concatenate([np.where(m, position[t.feature], 0) for t, m in zip(trees, inner, strict=True)])
    left = np.concatenate(
        [np.where(m, t.left + root, -1) for t, m, root in zip(trees, inner, roots, strict=True)]
    )
    cut = np.concatenate([tree.cut for tree in trees]).astype(np.int64)
    is_belief = source[feature] == PARENT_BELIEF if len(source) else np.zeros(len(feature), bool)
    threshold = np.where(is_belief, BELIEF_BINS.edges[0, np.minimum(cut, MAX_BINS - 2)], cut).astype(
        np.float32
    )
    values = np.concatenate([tree.values for tree in trees], axis=1)
    chain = Chain(
        source=source,
        column=column,
        feature=feature.astype(np.int32),
        threshold=threshold,
        left=left.astype(np.int32),
        value=np.ascontiguousarray(values[-1]),
        roots=roots.astype(np.int32),
    )
    return FoldedChain(chain, np.ascontiguousarray(values[:folds]))


def _column_gains(
    sample: Sample, binned: NDArray[np.uint8], settings: LearnerSettings
) -> NDArray[np.float64]:
    """Gain of the best single cut in each column."""
    rows = sample.rows(binned, settings.weight_power)
    sums = grower_kernels.gradients(
        rows.truth, rows.belief, rows.weight, np.ones(rows.truth.shape[1], np.float32)
    )
    histogram = np.empty((1, MAX_BINS, sums.shape[1]), np.float32)
    every = np.arange(len(binned), dtype=np.int32)
    gains = np.zeros(binned.shape[1])
    for column in range(binned.shape[1]):
        grower_kernels.fill_histogram(rows.binned, every, np.array([column], np.int32), sums, histogram)
        gains[column] = grower_kernels.best_cut(
            histogram, settings.boosting.regularisation, settings.boosting.least_curvature
        )[0]
    return gains


def _image_loss(sample: Sample, belief: NDArray[np.float32]) -> float:
    """The rows' part in the mean image's cross-entropy."""
    terms = -np.einsum("ik,ik->i", sample.truth, np.log(belief))
    return float(sample.share @ terms) / len(sample.examples)
