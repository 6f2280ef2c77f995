"""The two kinds of action and their exact, pure transitions (section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anyscene.model import kernels
from anyscene.model.chain import PARENT_BELIEF, Chain
from anyscene.model.evidence import Evidence
from anyscene.model.state import State


@dataclass(frozen=True)
class Split:
    """Open every leaf whose entropy is above the threshold (in nats)."""

    threshold: float


@dataclass(frozen=True)
class Update:
    """Bring the active leaves up to the first `size` weak learners of a chain.

    Bundles of one chain nest: after a bundle of 5, the bundle of 20 applies the other 15.
    """

    chain: int
    size: int


Action = Split | Update


class PoolArrays(NamedTuple):
    """The parts of a pool that compiled loops read.

    needs, chain_of, size_of, constants : as `Pool` describes them.
    thresholds : float32[T], the different thresholds of splits. group : int64[A], 0 for an update, 1 + t for
    a split at threshold t.
    """

    needs: NDArray[np.bool_]
    chain_of: NDArray[np.int64]
    size_of: NDArray[np.int64]
    constants: NDArray[np.float64]
    thresholds: NDArray[np.float32]
    group: NDArray[np.int64]


@dataclass(frozen=True)
class Pool:
    """The finite set of actions 𝒜ᵈ that a policy chooses from.

    sets : names of the feature sets that chains refer to by index.
    ladder : those whose maps of class probabilities can show detail within leaves, from coarse to fine.
    """

    sets: tuple[str, ...]
    chains: tuple[Chain, ...]
    actions: tuple[Action, ...]
    classes: int
    layer_count: int
    ladder: tuple[int, ...] = ()

    @cached_property
    def details(self) -> NDArray[np.float32]:
        """What each chain's blend weighs the maps of the ladder by, float32[B, S]."""
        weights = np.zeros((len(self.chains), len(self.sets)), np.float32)
        for row, chain in zip(weights, self.chains, strict=True):
            shown = np.isin(chain.blend_source, self.ladder)
            row[chain.blend_source[shown]] = chain.blend_weight[shown]
        return weights

    @cached_property
    def needs(self) -> NDArray[np.bool_]:
        """Which feature sets each action looks at, bool[A, S]; splits look at none."""
        rows = [
            self.chains[action.chain].sets_of(action.size, len(self.sets))
            if isinstance(action, Update)
            else np.zeros(len(self.sets), np.bool_)
            for action in self.actions
        ]
        return np.array(rows).reshape(len(self.actions), len(self.sets))

    @cached_property
    def needs_of(self) -> dict[Action, NDArray[np.bool_]]:
        """The rows of `needs` by action."""
        return dict(zip(self.actions, self.needs, strict=True))

    @cached_property
    def thresholds(self) -> NDArray[np.float32]:
        """The threshold of each split, nan for updates, float32[A]."""
        return np.array([a.threshold if isinstance(a, Split) else np.nan for a in self.actions], np.float32)

    @cached_property
    def arrays(self) -> PoolArrays:
        """The pool as compiled loops take it."""
        thresholds = np.unique(self.thresholds[self.chain_of < 0])
        group = np.where(self.chain_of < 0, 1 + np.searchsorted(thresholds, self.thresholds), 0)
        return PoolArrays(self.needs, self.chain_of, self.size_of, self.constants, thresholds, group)

    @cached_property
    def constants(self) -> NDArray[np.float64]:
        """What φ says of an action whatever the state: whether it splits, its threshold, its size."""
        columns = [self.chain_of < 0, np.nan_to_num(self.thresholds), np.log2(1 + self.size_of)]
        return np.column_stack(columns).astype(np.float64)

    @cached_property
    def chain_of(self) -> NDArray[np.int64]:
        """The chain of each update, -1 for splits, int64[A]."""
        return np.array([a.chain if isinstance(a, Update) else -1 for a in self.actions], np.int64)

    @cached_property
    def size_of(self) -> NDArray[np.int64]:
        """The bundle size of each update, 0 for splits, int64[A]."""
        return np.array([a.size if isinstance(a, Update) else 0 for a in self.actions], np.int64)


def opened_by(state: State, threshold: float, layer_count: int) -> NDArray[np.bool_]:
    """Which leaves a split at this threshold would open, bool[N]."""
    return (state.entropy > threshold) & (state.layers < layer_count - 1)


def reopened_by(state: State, threshold: float, layer_count: int) -> NDArray[np.bool_]:
    """Which leaves of the finest layer a split at this threshold makes active, bool[N].

    A leaf without children counts as its own child, so that doubtful ones are never out of reach.
    """
    return np.asarray((state.entropy > threshold) & (state.layers == layer_count - 1))


def split(state: State, threshold: float, pool: Pool, evidence: Evidence) -> State:
    """Open uncertain leaves; children inherit their parent's belief (Eq. 1) and become the active ones.

    Uncertain leaves of the finest layer become active, too, and stand for their own children.
    Where maps show detail, they inherit what their parent believed just there.
    """
    opened = opened_by(state, threshold, evidence.layer_count)
    finest = max(state.finest, int(np.max(state.layers, where=opened, initial=-1)) + 1)
    nodes = evidence.nodes(finest)
    leaves, source = kernels.split_rows(state.leaves, opened, nodes.child_start, nodes.child)
    new = opened[source]
    active = new | reopened_by(state, threshold, evidence.layer_count)[source]
    belief, in_hand = state.belief[source], state.in_hand
    if len(state.maps) and new.any():
        rows = np.flatnonzero(new)
        parents = state.leaves[source[rows]]
        belief = detailed(belief, rows, state, leaves[rows], parents, pool, evidence)
        in_hand = in_hand.copy()
        in_hand[np.ix_(state.maps, np.unique(nodes.layer[leaves[rows]]))] = True
    return replace(
        state,
        leaves=leaves,
        layers=nodes.layer[leaves],
        area=nodes.area[leaves],
        belief=belief,
        parent_belief=np.where(active[:, None], belief, state.parent_belief[source]),
        previous_entropy=state.previous_entropy[source],
        active=active,
        in_hand=in_hand,
        applied=np.zeros_like(state.applied),
        finest=finest,
        steps=state.steps + 1,
    )


def detailed(
    belief: NDArray[np.float32],
    rows: NDArray[np.int64],
    state: State,
    nodes: NDArray[np.int32],
    leaves: NDArray[np.int32],
    pool: Pool,
    evidence: Evidence,
) -> NDArray[np.float32]:
    """Beliefs with q ∝ q·Π (s(node) / s(leaf))^w in these rows: what leaves believe of nodes inside them."""
    scores = np.zeros((len(rows), pool.classes), np.float32)
    for shown in state.maps.tolist():
        name, weight = pool.sets[shown], float(state.detail[shown])
        kernels.add_log_scores(evidence.class_scores(name, nodes, pool.classes), weight, scores)
        kernels.add_log_scores(evidence.class_scores(name, leaves, pool.classes), -weight, scores)
    return np.asarray(kernels.reweigh(belief, rows, scores))


def update(state: State, action: Update, pool: Pool, evidence: Evidence) -> State:
    """Apply a bundle to the active leaves: q ∝ q·exp(α·h(f)), f = [features, parent's belief] (Eq. 2).

    A chain may begin with less than the belief of before, q ∝ q^kept·exp(α·h(f)). A blend starts over, with a
    power of 0: beliefs of before count only as one of its sources.
    """
    chain, done = pool.chains[action.chain], int(state.applied[action.chain])
    (scores,) = chain_scores(state, chain, pool, evidence, done, (action.size,))
    return updated(state, action, pool, scores)


def updated(state: State, action: Update, pool: Pool, scores: NDArray[np.float32]) -> State:
    """Return the state after an update whose scores for the active leaves are known."""
    rows, applied = state.active_rows, state.applied.copy()
    belief, detail = state.belief, state.detail
    chain = pool.chains[action.chain]
    if chain.kept < 1 and applied[action.chain] == 0:
        belief = belief.copy()
        belief[rows] = belief[rows] ** chain.kept / pool.classes
        blended = pool.details[action.chain]
        detail = blended if blended.any() else detail
    sets = pool.needs_of[action]
    applied[action.chain] = action.size
    in_hand = state.in_hand | (sets[:, None] & state.active_layers)
    return replace(
        state,
        belief=kernels.reweigh(belief, rows, scores),
        previous_entropy=np.where(state.active, state.entropy, state.previous_entropy),
        in_hand=in_hand,
        applied=applied,
        detail=detail,
        steps=state.steps + 1,
    )


def chain_scores(
    state: State, chain: Chain, pool: Pool, evidence: Evidence, done: int, sizes: Sequence[int]
) -> list[NDArray[np.float32]]:
    """Return what a chain's learners after the first `done` add to the active leaves' log-beliefs.

    One float32[n, C] for each of the rising `sizes`: what the learners up to there add together.
    """
    scores = np.zeros((len(state.active_rows), pool.classes), np.float32)
    if done == 0:
        _add_blend(state, chain, pool, evidence, scores)
    x = _tree_inputs(state, chain, pool, evidence, done, sizes[-1])
    sums = []
    for size in sizes:
        roots = chain.trees_between(done, size)
        kernels.add_tree_scores(x, chain.feature, chain.threshold, chain.left, chain.value, roots, scores)
        sums.append(scores.copy() if size != sizes[-1] else scores)
        done = size
    return sums


def _add_blend(
    state: State, chain: Chain, pool: Pool, evidence: Evidence, scores: NDArray[np.float32]
) -> None:
    rows = state.active_rows
    for source, weight in zip(chain.blend_source.tolist(), chain.blend_weight.tolist(), strict=True):
        if source == PARENT_BELIEF:
            chances = state.parent_belief[rows]
        else:
            chances = evidence.class_scores(pool.sets[source], state.leaves[rows], pool.classes)
        kernels.add_log_scores(chances, weight, scores)
    scores += chain.blend_bias


def _tree_inputs(
    state: State, chain: Chain, pool: Pool, evidence: Evidence, done: int, size: int
) -> NDArray[np.float32]:
    """What the trees among these learners look at, float32[n, M]; other columns are undefined."""
    rows = state.active_rows
    x = np.empty((len(rows), len(chain.source)), np.float32)
    if len(chain.trees_between(done, size)) == 0:
        return x
    needed = chain.sets_of(size, len(pool.sets))
    leaves = state.leaves[rows]
    for source, inputs, columns in chain.source_groups:
        if source == PARENT_BELIEF:
            x[:, inputs] = state.parent_belief[rows[:, None], columns]
        elif needed[source]:
            x[:, inputs] = evidence.gather(pool.sets[source], leaves, columns)
    return x


def begins_anew(sequence: Sequence[int], pool: Pool) -> bool:
    """Tell whether all actions are blends, so that none depends on those before it.

    This holds for the image as a whole: after a split, it matters what the split has done.
    """
    chains = pool.chain_of[list(sequence)]
    return all(chain >= 0 and pool.chains[chain].has_blend for chain in chains) and bool(
        (pool.size_of[list(sequence)] == 1).all()
    )


def advance(state: State, action: Action, pool: Pool, evidence: Evidence, cost: float) -> State:
    """Take an action. cost : its milliseconds."""
    if isinstance(action, Split):
        after = split(state, action.threshold, pool, evidence)
    else:
        after = update(state, action, pool, evidence)
    return replace(after, cost=state.cost + cost)
