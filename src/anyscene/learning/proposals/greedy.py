"""The greedy sequence of actions in the paper's setting: leaves show one label, trees look at regions (4.1).

At every step a bundle of weak learners is proposed for the leaves that are active now, and for those that one
to three splits would make active. A split alone earns little; a split and the bundle after it are weighed as
one step. The step of largest mean reward (Eq. 4), on images that its learners have not seen, is taken.

A far-sighted course plans: it looks for the way through the proposals of largest area over log cost, takes
its first step, and plans again. So labels come early, and then several sets are looked at on finer leaves at
once, where a myopic course pays for every small step on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from anyscene.learning.learners.blending import halfway
from anyscene.learning.learners.boosting import BoostingSettings, Columns, boost
from anyscene.learning.learners.cross_fit import loss_after
from anyscene.learning.learners.leaves import Layout, LeafRows, draw_leaves, layout_of
from anyscene.learning.learners.weak_learners import flatten
from anyscene.learning.proposals.advancing import Crowd, Lines, Measured
from anyscene.learning.proposals.sources import Sources, choices_of_sources
from anyscene.learning.proposals.weighing import Proposal, best_of_each_kind, plan, rewarding
from anyscene.model.actions import Action, Split, Update
from anyscene.model.chain import PARENT_BELIEF, Chain
from anyscene.model.state import State

SCREENED_DEPTH, SCREENED_TREES = 3, 20
"""Trees that only tell whether a set is worth looking at are smaller and fewer than those that label."""

LEAST_GAIN = 0.004
"""Share of the cross-entropy that a step takes off at least: less is not there on new images."""

MOST_TRIED = 8
"""Proposals of a step that are fitted at most before it is clear that none helps."""

MOST_SPLITS = 3
"""Splits in a row that are weighed as one step. Three layers of a tree are grown together."""

MOST_NEW = 3
"""Sets that a far-sighted step looks at for the first time, at most."""

LEAST_AREA = 0.02
"""Share of the image by which the leaves that two thresholds open differ, or they are one proposal."""


@dataclass(frozen=True)
class GreedySettings:
    """How the sequence is proposed.

    sizes : bundles of weak learners, rising. alpha : weight of impurity in rewards (Eq. 3).
    samples, screening_samples : leaves that chains are fitted to, and that feature sets are tried on.
    fitted : proposals of a step that are fitted in full and hold what their screening foretold.
    far_sighted : steps are planned ahead, by the area over log cost.
    """

    thresholds: tuple[float, ...] = (0.0, 0.3, 0.6, 1.0)
    sizes: tuple[int, ...] = (5, 10, 20)
    alpha: float = 0.1
    steps: int = 40
    samples: int = 30_000
    screening_samples: int = 8_000
    fitted: int = 5
    far_sighted: bool = False
    boosting: BoostingSettings = field(
        default_factory=lambda: BoostingSettings(
            depth=4, shrinkage=0.2, regularisation=50.0, least_curvature=60.0, column_share=0.1
        )
    )


@dataclass(frozen=True)
class Step:
    """What was done to all images at once. chains : of an update, one for each line; empty for a split."""

    action: Action
    chains: tuple[Chain, ...] = ()


@dataclass(frozen=True)
class Course:
    """Steps one after the other, and what held on unseen images before the first and after each proposal."""

    steps: tuple[Step, ...]
    record: tuple[Measured, ...]


def take(crowd: Crowd, lines: Lines, step: Step) -> Lines:
    """Take a step along every line."""
    if isinstance(step.action, Split):
        return [crowd.split(states, step.action.threshold) for states in lines]
    pairs = zip(lines, step.chains, strict=True)
    return [crowd.update(states, [chain] * len(states), step.action.size) for states, chain in pairs]


def greedy_course(
    crowd: Crowd,
    settings: GreedySettings,
    seed: np.random.SeedSequence,
    on_step: Callable[[Sequence[Step], Measured], None] = lambda steps, measured: None,
) -> Course:
    """Take the proposal of largest mean reward until none lowers the cross-entropy enough."""
    layout = layout_of(crowd.corpus)
    lines = crowd.start()
    taken: list[Step] = []
    record = [crowd.measure(crowd.judged(lines))]
    judges = np.unique(crowd.folds)
    for turn, step_seed in enumerate(seed.spawn(settings.steps)):
        random = np.random.default_rng(step_seed)
        steps = _best_steps(crowd, lines, layout, settings, int(judges[turn % len(judges)]), random)
        if not steps:
            break
        for step in steps:
            lines = take(crowd, lines, step)
        taken += steps
        record.append(crowd.measure(crowd.judged(lines)))
        on_step(steps, record[-1])
    return Course(tuple(taken), tuple(record))


def _best_steps(
    crowd: Crowd,
    lines: Lines,
    layout: Layout,
    settings: GreedySettings,
    judge: int,
    random: np.random.Generator,
) -> list[Step]:
    """Screen all proposals, fit those that promise most, and return the best steps."""
    before = crowd.measure(crowd.judged(lines))
    least = LEAST_GAIN * before.cross_entropy
    screened = [
        proposal
        for splits, states in _openings(crowd, lines[judge], settings.thresholds)
        for proposal in _screen(crowd, lines[judge], splits, states, layout, settings, judge, random)
        if proposal.gain > least
    ]
    horizon = crowd.costs.everything
    wanted = 1 if settings.far_sighted else settings.fitted
    if not settings.far_sighted:
        screened = best_of_each_kind(screened, before.cost)
    best: tuple[float, list[Step]] = (0.0, [])
    for _ in range(min(MOST_TRIED, len(screened))):
        proposal = plan(screened, horizon)[0] if settings.far_sighted else rewarding(screened, before.cost)
        screened.remove(proposal)
        after = lines
        for split in proposal.splits:
            after = take(crowd, after, Step(split))
        chains = fit_chains(crowd, after, proposal.sources, layout, settings, random)
        judged = crowd.judged(after)
        helped = False
        for size in (1,) if proposal.sources.blends else settings.sizes:
            reached = crowd.measure(crowd.update(judged, [chains[fold] for fold in crowd.folds], size))
            if before.cross_entropy - reached.cross_entropy < least:
                continue
            helped = True
            saved = before.loss(settings.alpha) - reached.loss(settings.alpha)
            if settings.far_sighted:
                worth = saved * max(float(np.log(horizon / reached.cost)), 1e-3)
            else:
                worth = saved / (reached.cost - before.cost)  # Eq. 4
            if worth > best[0]:
                best = worth, [*map(Step, proposal.splits), Step(Update(0, size), chains)]
        wanted -= helped
        if wanted == 0:
            break
    return best[1]


def fit_chains(
    crowd: Crowd,
    lines: Lines,
    sources: Sources,
    layout: Layout,
    settings: GreedySettings,
    random: np.random.Generator,
) -> tuple[Chain, ...]:
    """Fit the largest bundle to the active leaves along every line, each to the images it learns from.

    A blend is fitted to states that do not know their images: elsewhere parents' beliefs look better than
    they are on new ones, and a blend would trust them rather than a network that has just come.
    """
    corpus, columns, judged = crowd.corpus, _columns(layout, sources), crowd.judged(lines)
    chains = []
    for line, states in enumerate(lines):
        own = np.flatnonzero(crowd.fitted(line)).tolist()
        fitted = [(judged if sources.blends else states)[image] for image in own]
        examples, folds = [crowd.examples[image] for image in own], crowd.folds[own]
        leaves = draw_leaves(corpus, examples, fitted, folds, settings.samples, random)
        if sources.blends:
            blend = leaves.blend(sources.every, corpus.prior)
            chains.append(flatten(blend, sources.every, (), (), corpus.classes))
        else:
            rows = _beginning(leaves, sources, corpus.prior).rows()
            trees = boost(rows, max(settings.sizes), settings.boosting, random, columns=columns)
            start = halfway(corpus.prior) if sources.new else None
            chains.append(flatten(start, (), trees, layout.inputs, corpus.classes))
    return tuple(chains)


def _beginning(leaves: LeafRows, sources: Sources, prior: NDArray[np.float32]) -> LeafRows:
    """What trees begin with: trees that bring a new set begin halfway between the beliefs and the prior.

    Beliefs of before know the images that they were fitted to. Little is left over there for a new set to
    explain, so trees on top of these beliefs would hardly look at it.
    """
    return leaves.halfway(prior) if sources.new else leaves


def _columns(layout: Layout, sources: Sources) -> Columns:
    """The columns of these sources; trees that bring new sets must make their first cut in them."""
    every = layout.columns_of(sources.every)
    return Columns(every, layout.columns_of(sources.new) if sources.new else every)


def _openings(
    crowd: Crowd, states: Sequence[State], thresholds: Sequence[float]
) -> Iterator[tuple[tuple[Split, ...], list[State]]]:
    """No split, and every number of splits at every threshold that makes other leaves active."""
    yield (), list(states)
    areas: list[float] = []
    for threshold in sorted(thresholds):
        area = float(np.mean([state.area[state.entropy > threshold].sum() for state in states]))
        if area < LEAST_AREA or any(abs(area - other) < LEAST_AREA for other in areas):
            continue
        areas.append(area)
        after = list(states)
        for count in range(1, MOST_SPLITS + 1):
            split = crowd.split(after, threshold)
            changed = sum(new is not old for new, old in zip(split, after, strict=True))
            if changed < len(after) / 2:
                break
            after = split
            yield (Split(threshold),) * count, after


def _screen(
    crowd: Crowd,
    states: Sequence[State],
    splits: tuple[Split, ...],
    after: Sequence[State],
    layout: Layout,
    settings: GreedySettings,
    judge: int,
    random: np.random.Generator,
) -> list[Proposal]:
    """Try the sets in hand alone, and with each of the others, by small trees that must look at it."""
    leaves = draw_leaves(crowd.corpus, crowd.examples, after, crowd.folds, settings.screening_samples, random)
    fitted, judged = leaves.some(leaves.fold != judge), leaves.some(leaves.fold == judge)
    if not len(fitted.fold) or not len(judged.fold):
        return []
    boosting = replace(settings.boosting, depth=SCREENED_DEPTH)
    before, opened = crowd.measure(states), crowd.measure(after)
    unseen = [image for image, fold in enumerate(crowd.folds) if fold == judge]
    active = float(np.mean([_active_cross_entropy(after[i], crowd.examples[i].truth.mass) for i in unseen]))
    in_hand = np.flatnonzero(states[0].in_hand.any(axis=1)).tolist()

    def proposal(sources: Sources) -> Proposal:
        if sources.blends:
            trees, after_all = (
                0,
                judged.blended(judged.blend(sources.every, crowd.corpus.prior), sources.every),
            )
            left = after_all.cross_entropy
        else:
            trees = SCREENED_TREES
            learned, tried = (_beginning(part, sources, crowd.corpus.prior) for part in (fitted, judged))
            left = loss_after(learned, tried, _columns(layout, sources), trees, boosting, random)
        share = 1 - left / max(judged.cross_entropy, 1e-12)
        gain = share * active + settings.alpha * (before.impurity - opened.impurity)
        waste = crowd.costs.step + _applying(crowd, after, trees)
        cost = opened.cost + waste + _extracting(crowd, after, sources.every)
        return Proposal(splits, sources, gain, cost, waste)

    found = [proposal(each) for each in choices_of_sources(crowd.corpus, in_hand, bool(splits))]
    if settings.far_sighted:
        rates = {
            one.sources.new[0]: one.gain / (one.cost - before.cost)
            for one in found
            if one.sources.new and not one.sources.blends
        }
        best = sorted(rates, key=lambda new: -rates[new])[:MOST_NEW]
        together = [tuple(best[:count]) for count in range(2, len(best) + 1)]
        found += [proposal(Sources((PARENT_BELIEF, *in_hand, *new), new)) for new in together]
    return found


def _active_cross_entropy(state: State, mass: NDArray[np.float32]) -> float:
    own = state.active
    return -float(np.einsum("ik,ik->", mass[state.leaves[own]], state.log_belief[own], dtype=np.float64))


def _applying(crowd: Crowd, states: Sequence[State], trees: int) -> float:
    """Mean milliseconds of applying so many trees to the active leaves."""
    costs = crowd.costs
    active = np.mean([np.count_nonzero(state.active) for state in states])
    return float(active) * (costs.input + costs.tree * trees)


def _extracting(crowd: Crowd, states: Sequence[State], sources: Sequence[int]) -> float:
    """Mean milliseconds of extracting what is missing of these sources on the active leaves' layers."""
    costs = crowd.costs
    wanted = np.array([s for s in sources if s != PARENT_BELIEF], np.int64)
    total = 0.0
    for state in states:
        missing = np.zeros_like(state.in_hand)
        missing[wanted] = state.active_layers & ~state.in_hand[wanted]
        items = costs.requires[missing].any(axis=0) & ~costs.requires[state.in_hand].any(axis=0)
        total += float(costs.pooling[missing].sum() + costs.items[items].sum())
    return total / len(states)
