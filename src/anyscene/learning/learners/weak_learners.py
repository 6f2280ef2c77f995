"""Chains of weak learners for the active leaves, chosen with their cost in view (4.1, Greedy Miser)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from anyscene.learning.corpus import Corpus, Example
from anyscene.learning.learners import grower_kernels
from anyscene.learning.learners.binning import BELIEF_BINS, MAX_BINS
from anyscene.learning.learners.blending import Blend, fit_blend, with_fair_prior
from anyscene.learning.learners.boosting import BoostingSettings, DecisionTree, Rows, boost, lay_end_to_end
from anyscene.model import kernels
from anyscene.model.chain import PARENT_BELIEF, Chain
from anyscene.model.shown import finest_regions
from anyscene.model.state import State


@dataclass(frozen=True)
class LearnerSettings:
    """How chains are fitted.

    weight_power : a region weighs its area to this power. rare_power : see `fit_blend`.
    columns : most inputs a chain chooses from.
    """

    sizes: tuple[int, ...] = (1, 5, 10, 20)
    samples: int = 60_000
    screening_samples: int = 20_000
    columns: int = 48
    weight_power: float = 0.5
    rare_power: float = 0.3
    boosting: BoostingSettings = field(default_factory=BoostingSettings)


@dataclass(frozen=True)
class Sample:
    """Finest regions that lie in active leaves of several images, one a row.

    Weak learners look at the leaf and are judged by what it then shows of the region.

    truth : float32[n, C], of the region. share : float32[n], its share of its image's labelled pixels.
    leaf_belief, parent_belief : float32[n, C], of the leaf and its parent. belief : what is shown now.
    nodes, regions : the leaf and the region of each row, image by image.
    """

    examples: tuple[Example, ...]
    nodes: tuple[NDArray[np.int32], ...]
    regions: tuple[NDArray[np.int32], ...]
    truth: NDArray[np.float32]
    leaf_belief: NDArray[np.float32]
    belief: NDArray[np.float32]
    parent_belief: NDArray[np.float32]
    share: NDArray[np.float32]

    def rows(self, binned: NDArray[np.uint8], belief: NDArray[np.float32], weight_power: float) -> Rows:
        """The sample as rows to fit trees to, starting from these beliefs."""
        weight = self.share**weight_power
        return Rows(binned, self.truth, belief, weight / weight.mean())

    def loss(self, belief: NDArray[np.float32]) -> float:
        """The rows' part in the mean image's cross-entropy."""
        terms = -np.einsum("ik,ik->i", self.truth, np.log(belief))
        return float(self.share @ terms) / len(self.examples)

    def shown(self, detail: NDArray[np.float32], sets: Sequence[str]) -> NDArray[np.float32]:
        """What the leaves' beliefs show of the regions by weighted maps, float32[n, C]; see `detail.py`."""
        scores = np.zeros_like(self.leaf_belief)
        for source in np.flatnonzero(detail).tolist():
            weight = float(detail[source])
            kernels.add_log_scores(self._scores(sets[source], self.regions), weight, scores)
            kernels.add_log_scores(self._scores(sets[source], self.nodes), -weight, scores)
        return np.asarray(kernels.reweigh(self.leaf_belief, np.arange(len(scores)), scores))

    def evidence(self, source: int, sets: Sequence[str], shows_detail: bool) -> NDArray[np.float32]:
        """The class probabilities that count for a row, float32[n, C]: of the region where a map tells."""
        if source == PARENT_BELIEF:
            return self.parent_belief
        return self._scores(sets[source], self.regions if shows_detail else self.nodes)

    def _scores(self, feature_set: str, nodes: Sequence[NDArray[np.int32]]) -> NDArray[np.float32]:
        classes = self.truth.shape[1]
        pairs = zip(self.examples, nodes, strict=True)
        return np.concatenate([e.evidence.class_scores(feature_set, n, classes) for e, n in pairs])

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
    examples: Sequence[Example],
    states: Sequence[State],
    most: int,
    sets: Sequence[str],
    random: np.random.Generator,
) -> Sample:
    """Take labelled regions in the active leaves of these images, at most about so many, at random."""
    held = [finest_regions(e.evidence.tree, s.leaves) for e, s in zip(examples, states, strict=True)]
    active = sum(int(s.active[rows].sum()) for s, (_, rows) in zip(states, held, strict=True))
    keep = min(1.0, most / max(active, 1))
    nodes, regions, masses, beliefs, parents = [], [], [], [], []
    for example, state, (atoms, rows) in zip(examples, states, held, strict=True):
        mass = example.truth.mass[atoms]
        chosen = state.active[rows] & (mass.sum(axis=1) > 0)
        if keep < 1:
            chosen &= random.random(len(chosen)) < keep
        nodes.append(state.leaves[rows[chosen]])
        regions.append(atoms[chosen])
        masses.append(mass[chosen])
        beliefs.append(state.belief[rows[chosen]])
        parents.append(state.parent_belief[rows[chosen]])
    mass = np.concatenate(masses)
    share, belief = mass.sum(axis=1), np.concatenate(beliefs)
    sample = Sample(
        examples=tuple(examples),
        nodes=tuple(nodes),
        regions=tuple(regions),
        truth=mass / share[:, None],
        leaf_belief=belief,
        belief=belief,
        parent_belief=np.concatenate(parents),
        share=(share / keep).astype(np.float32),
    )
    return replace(sample, belief=sample.shown(states[0].detail, sets))


@dataclass(frozen=True)
class Candidate:
    """Sources for a chain. gain : what a blend and a shallow tree on them take off an image's loss, in nats.

    blended : those that speak of classes, if any is a feature set.
    """

    sources: tuple[int, ...]
    blended: tuple[int, ...]
    inputs: tuple[tuple[int, int], ...]
    gain: float


def screen(
    sample: Sample,
    held_out: Sample,
    in_hand: Sequence[int],
    others: Sequence[int],
    corpus: Corpus,
    settings: LearnerSettings,
    random: np.random.Generator,
) -> list[Candidate]:
    """Try the sets in hand alone, and with each of the others in turn, by a blend and a shallow tree."""
    binned = {s: sample.columns_of(s, corpus.sets) for s in (PARENT_BELIEF, *in_hand, *others)}
    gains = {s: _column_gains(sample, columns, settings) for s, columns in binned.items()}
    shallow = replace(settings.boosting, depth=2, shrinkage=1.0, row_share=1.0, column_share=1.0)
    base = (PARENT_BELIEF, *in_hand)
    candidates = []
    for sources in [base, *((*base, other) for other in others)]:
        inputs = [(s, column) for s in sources for column in range(binned[s].shape[1])]
        best = np.argsort([-gains[s][column] for s, column in inputs], kind="stable")[: settings.columns]
        chosen = tuple(inputs[i] for i in sorted(best.tolist()))
        candidate = Candidate(sources, _blended(sources, corpus), chosen, 0.0)
        _, _, belief = _fit_learners(sample, held_out, candidate, corpus, 1, shallow, settings, random)
        candidates.append(replace(candidate, gain=held_out.loss(held_out.belief) - held_out.loss(belief)))
    return candidates


def choose_candidates(
    candidates: Sequence[Candidate], costs: Sequence[float], lambdas: Sequence[float]
) -> list[Candidate]:
    """Pick, for each λ, the candidate of largest gain − λ·cost (Eq. 7), each at most once.

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
) -> Chain | None:
    """Fit a chain on a candidate's inputs, ended where held-out loss is lowest; None if no learner helps."""
    trees = max(settings.sizes) - bool(candidate.blended)
    blend, fitted, _ = _fit_learners(
        sample, held_out, candidate, corpus, trees, settings.boosting, settings, random
    )
    if blend is None and not fitted:
        return None
    return flatten(blend, candidate.blended, fitted, candidate.inputs, corpus.classes)


def blend_chain(sample: Sample, sources: Sequence[int], corpus: Corpus, settings: LearnerSettings) -> Chain:
    """A chain of one learner: the blend of these sources, which speak of classes."""
    return flatten(_fit_blend(sample, sources, corpus, settings), sources, (), (), corpus.classes)


def _fit_blend(sample: Sample, sources: Sequence[int], corpus: Corpus, settings: LearnerSettings) -> Blend:
    chances = _evidence(sample, sources, corpus)
    blend = fit_blend(sample.truth, sample.share, chances, corpus.prior, settings.rare_power)
    return with_fair_prior(blend, sample.truth, sample.share, chances)


def _fit_learners(
    sample: Sample,
    held_out: Sample,
    candidate: Candidate,
    corpus: Corpus,
    trees: int,
    boosting: BoostingSettings,
    settings: LearnerSettings,
    random: np.random.Generator,
) -> tuple[Blend | None, list[DecisionTree], NDArray[np.float32]]:
    """A blend if there are sources for one, then trees, as far as held-out loss falls; held-out beliefs."""
    parts = (sample, held_out)
    beliefs = [part.belief.copy() for part in parts]  # boosting changes them
    blend = None
    if candidate.blended:
        blend = _fit_blend(sample, candidate.blended, corpus, settings)
        blended = [blend.beliefs(_evidence(part, candidate.blended, corpus)) for part in parts]
        if held_out.loss(blended[1]) < held_out.loss(held_out.belief):
            beliefs = blended
        else:
            blend = None
    rows, fresh = (
        part.rows(_inputs(part, candidate.inputs, corpus.sets), belief, settings.weight_power)
        for part, belief in zip(parts, beliefs, strict=True)
    )
    fitted = boost(rows, trees, boosting, random, fresh)
    return blend, fitted, fresh.belief


def _blended(sources: Sequence[int], corpus: Corpus) -> tuple[int, ...]:
    speaking = tuple(s for s in sources if s != PARENT_BELIEF and corpus.sets[s] in corpus.speaking)
    return (PARENT_BELIEF, *speaking) if speaking else ()


def _evidence(sample: Sample, sources: Sequence[int], corpus: Corpus) -> list[NDArray[np.float32]]:
    return [sample.evidence(source, corpus.sets, source in corpus.ladder) for source in sources]


def _inputs(sample: Sample, inputs: Sequence[tuple[int, int]], sets: Sequence[str]) -> NDArray[np.uint8]:
    sources = sorted({source for source, _ in inputs})
    binned = {source: sample.columns_of(source, sets) for source in sources}
    return np.ascontiguousarray(np.column_stack([binned[source][:, column] for source, column in inputs]))


def flatten(
    blend: Blend | None,
    blended: Sequence[int],
    trees: Sequence[DecisionTree],
    inputs: Sequence[tuple[int, int]],
    classes: int,
) -> Chain:
    """Lay the learners end to end; inputs that no tree looks at are dropped."""
    nodes, roots = lay_end_to_end(trees, classes)
    inner = nodes.left >= 0
    used, of_inner = np.unique(nodes.feature[inner], return_inverse=True)
    source = np.array([inputs[i][0] for i in used], np.int16)
    feature = np.zeros(len(inner), np.int32)
    feature[inner] = of_inner
    threshold = nodes.cut.astype(np.float32)
    of_belief = np.zeros(len(inner), np.bool_)
    of_belief[inner] = source[of_inner] == PARENT_BELIEF
    threshold[of_belief] = BELIEF_BINS.edges[0, np.minimum(nodes.cut[of_belief], MAX_BINS - 2)]
    return Chain(
        kept=np.array([blend.kept if blend else 1.0], np.float32),
        blend_source=np.array(blended if blend else (), np.int16),
        blend_weight=blend.weight if blend else np.zeros(0, np.float32),
        blend_bias=blend.bias if blend else np.zeros(classes, np.float32),
        source=source,
        column=np.array([inputs[i][1] for i in used], np.int32),
        feature=feature,
        threshold=threshold,
        left=nodes.left,
        value=nodes.value,
        roots=roots,
    )


def _column_gains(
    sample: Sample, binned: NDArray[np.uint8], settings: LearnerSettings
) -> NDArray[np.float64]:
    """Gain of the best single cut in each column."""
    rows = sample.rows(binned, sample.belief, settings.weight_power)
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
