"""From a pool of actions to the policies of a model: exploring, iterating, choosing when to stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from anyscene.learning.corpus import Example
from anyscene.learning.folded import FoldedModel
from anyscene.learning.parallel import map_threads
from anyscene.learning.policy_iteration import Behaviour, IterationSettings, fit_myopic, iterate
from anyscene.learning.pool import Proposals
from anyscene.learning.process import as_behaviour
from anyscene.model.curves import area_over_log_cost, budget_grid
from anyscene.model.policies import LearnedPolicy, LinearQ, Policy, RandomPolicy, StaticPolicy
from anyscene.model.rollout import Trajectory, rollout, walk

STOP_TOLERANCE = 2e-4
"""Accuracy that stopping early may cost on held-out images."""


def learn_policies(
    proposals: Proposals,
    settings: IterationSettings,
    explored: int,
    threads: int,
    seed: np.random.SeedSequence,
    on_iteration: Callable[[int, float], None] = lambda iteration, score: None,
) -> dict[str, LearnedPolicy]:
    """Learn D-NM on the fitted images, and D-M from what D-NM explored.

    Of D-NM's iterations the one with the largest held-out area under the curve is kept.
    """
    model = proposals.model
    explore_seed, walk_seed, judge_seed = seed.spawn(3)
    fit, held_out = model.corpus.fit, model.corpus.held_out
    chosen = fit[:: max(1, -(-len(fit) // explored))]
    static = run_all(model, constant(StaticPolicy(proposals.sequences[0])), held_out, threads)
    random = np.random.default_rng(judge_seed)
    budgets = budget_grid([static, run_all(model, constant(RandomPolicy(random)), held_out[:8], 1)])

    def held_out_score(q: LinearQ) -> float:
        return area_over_log_cost(run_all(model, constant(LearnedPolicy(q)), held_out, threads), budgets)

    q, experience = iterate(
        [partial(model.start, example) for example in chosen],
        _first_behaviours(proposals, len(chosen), np.random.default_rng(walk_seed)),
        settings,
        np.random.default_rng(explore_seed),
        held_out_score,
        on_iteration,
    )
    myopic = fit_myopic(experience, settings, len(model.actions))
    return {name: LearnedPolicy(q, stop_level(model, q)) for name, q in (("D-NM", q), ("D-M", myopic))}


def run_all(
    model: FoldedModel, policy_for: Callable[[Example], Policy], examples: Sequence[Example], threads: int
) -> list[Trajectory]:
    """Run a policy on images, each seeing the model without itself."""
    return map_threads(
        lambda e: rollout(model.for_image(e), policy_for(e), e.evidence, e.truth, model.alpha),
        examples,
        threads,
    )


def constant(policy: Policy) -> Callable[[Example], Policy]:
    """The same policy for every image."""
    return lambda example: policy


def stop_level(model: FoldedModel, q: LinearQ) -> float:
    """The largest Q̂ below which stopping costs held-out images no accuracy; −inf if there is none.

    A longer budget must not end below a shorter one: where Q̂ says that nothing is worth its cost, and
    going on made held-out images worse or no better, stop.
    """
    runs = [_watched(model, q, example) for example in model.corpus.held_out]
    levels = [-np.inf, *np.quantile(np.concatenate([best for best, _ in runs]), np.linspace(0, 0.6, 25)), 0.0]
    levels = sorted({float(level) for level in levels if level <= 0.0})
    accuracy = [float(np.mean([_stopped(best, seen, level) for best, seen in runs])) for level in levels]
    allowed = [
        level for level, a in zip(levels, accuracy, strict=True) if a >= max(accuracy) - STOP_TOLERANCE
    ]
    return float(allowed[-1])


def _first_behaviours(
    proposals: Proposals, count: int, random: np.random.Generator
) -> list[tuple[Behaviour, Sequence[int]]]:
    """S-M on all images, every cluster's sequence and random walks on a part each."""
    others = [as_behaviour(StaticPolicy(sequence)) for sequence in proposals.sequences[1:]]
    others.append(as_behaviour(RandomPolicy(random)))
    parts = [(behaviour, range(i % 2, count, 2)) for i, behaviour in enumerate(others)]
    return [(as_behaviour(StaticPolicy(proposals.sequences[0])), range(count)), *parts]


def _watched(
    model: FoldedModel, q: LinearQ, example: Example
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The largest Q̂ before each action, and the accuracy before each and at the end."""
    policy, best = LearnedPolicy(q), []
    for situation, action, _ in walk(model.for_image(example), policy, example.evidence):
        best.append(float(q.values(situation.phi)[action]))
    trajectory = rollout(model.for_image(example), policy, example.evidence, example.truth, model.alpha)
    return np.array(best), trajectory.accuracy


def _stopped(best: NDArray[np.float64], accuracy: NDArray[np.float64], level: float) -> float:
    """The accuracy at the end when stopping before the first action whose Q̂ is not above the level."""
    below = np.flatnonzero(best <= level)
    return float(accuracy[below[0]] if len(below) else accuracy[-1])
