"""From a pool of actions to the policies of a model: exploring, iterating, choosing when to stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from anyscene.learning.corpus import Example
from anyscene.learning.helpers import Helpers
from anyscene.learning.judging import BEYOND, CAUTION, DECIDING, SHORTFALL, TWICE, standard_error
from anyscene.learning.parallel import map_threads
from anyscene.learning.policy.policy_iteration import (
    Explorer,
    IterationSettings,
    Walk,
    fit_myopic,
    iterate,
)
from anyscene.learning.policy.process import as_behaviour, first_visit
from anyscene.learning.proposals.draft import Draft
from anyscene.learning.proposals.guide import least_budget
from anyscene.learning.proposals.pool import Proposals
from anyscene.model.actions import begins_anew
from anyscene.policy.curves import accuracy_at, budget_grid, mean_curve, score_against
from anyscene.policy.policies import (
    LearnedPolicy,
    LinearQ,
    Policy,
    RandomPolicy,
    Situation,
    StaticPolicy,
    remaining,
)
from anyscene.policy.rollout import Trajectory, rollout, walk
from anyscene.policy.storage import StoredPolicy

MARGINS = (np.inf, 1.0, 0.3, 0.0)
"""By how much Q̂ may have to promise more before a learned policy departs from its guide."""


@dataclass(frozen=True)
class Judged:
    """A policy, its score on the judging images, and by how much the area under its curve exceeds that under
    S-M's on each of them. toll : what it takes besides.
    """

    policy: LearnedPolicy
    score: float
    gains: NDArray[np.float64]
    toll: float = 0.0

    @property
    def worth(self) -> float:
        """The score that chance leaves, judges being few, less the toll."""
        return self.score - CAUTION * standard_error(self.gains) - self.toll

    def surely_better_than(self, other: Judged) -> bool:
        """Whether the score is higher by more than chance explains, going by the images' differences."""
        return self.score - other.score > TWICE * standard_error(self.gains - other.gains)


def learn_policies(
    proposals: Proposals,
    settings: IterationSettings,
    gammas: Sequence[float],
    explored: int,
    threads: int,
    seed: np.random.SeedSequence,
    on_iteration: Callable[[float, int, float], None] = lambda gamma, iteration, score: None,
    helpers: Helpers | None = None,
) -> dict[str, StoredPolicy]:
    """Learn D-NM on one part of the held-out images and some others, and D-M from what D-NM explored.

    Of D-NM's iterations, for all γ, the one that all held-out images judge best is kept. The myopic Q̂ is
    judged with them: a guide that was found by looking ahead may do better with it than with a discounted
    one.

    helpers : those who explore; none: this process does.
    """
    model = proposals.model
    explore_seed, walk_seed = seed.spawn(2)
    unseen = model.corpus.explored
    unseen = unseen[:: max(1, -(-len(unseen) // explored))]
    # Fitted images make up the number: they flatter weak learners, but states differ more than that.
    chosen = (*unseen, *model.corpus.some_fitted(explored - len(unseen)))
    judge = Judge(proposals, threads)
    # A start holds its own image and no others: it may have a long way to go.
    starts = [partial(first_visit, model.model_for(example), example, model.alpha) for example in chosen]
    explorer = Explorer(starts, helpers)
    experience = explorer.explore(_first_walks(proposals, len(chosen), np.random.default_rng(walk_seed)))
    experience.forget_values()
    random = np.random.default_rng(explore_seed)
    candidates: list[Judged] = []
    for gamma in gammas:
        own = replace(settings, gamma=gamma)
        note = partial(on_iteration, gamma)
        q = iterate(explorer, experience, own, random, lambda q: judge.best_policy(q).worth, note)
        candidates.append(judge.best_policy(q))
        experience.forget_values()
    myopic = fit_myopic(experience, settings, len(model.actions))
    candidates.append(judge.best_policy(myopic))
    best = max(candidates, key=lambda candidate: candidate.worth)
    learned = {"D-NM": best.policy, "D-M": judge.with_stop(LearnedPolicy(myopic)).policy}
    return {name: policy.simplified() for name, policy in learned.items()}


class Judge:
    """Says how good a Q-function is on held-out images, which guide its policy should follow, how loyally,
    and when to stop.

    The score is `score_against` the static sequence's curve, from the first label to beyond what the dearest
    of these sequences costs.
    """

    def __init__(self, proposals: Proposals, threads: int) -> None:
        self._model = proposals.model
        self._threads = threads
        self._guides = list(dict.fromkeys(proposals.guides or proposals.sequences[:1]))
        self._images = self._model.corpus.held_out
        runs, *guided = (
            run_all(self._model, constant(StaticPolicy(sequence)), self._images, threads)
            for sequence in (proposals.sequences[0], *self._guides)
        )
        first, full = budget_grid([runs, *guided])[[0, -1]]
        self._budgets = np.geomspace(max(first, least_budget(self._model)), BEYOND * full, 256)
        self._static = mean_curve(runs, self._budgets)
        self._static_areas = self._areas(runs)

    def best_policy(self, q: LinearQ) -> Judged:
        """Return the best policy that this Q-function makes with one of the guides; of equals the loyal."""
        choices = product(MARGINS, self._guides)
        policies = [LearnedPolicy(q, guide=guide, margin=margin) for margin, guide in choices]
        return max(map(self.with_stop, policies), key=lambda judged: judged.worth)

    def with_stop(self, policy: LearnedPolicy) -> Judged:
        """Return the policy with the level of Q̂ at or below which it should stop."""
        watched = map_threads(partial(_watched, self._model, policy), self._images, self._threads)
        values = np.concatenate([best for best, _ in watched])
        values = values[np.isfinite(values)]
        levels = [-np.inf, *(np.unique(np.quantile(values, np.linspace(0, 1, 21))) if len(values) else ())]
        if policy.guide:
            levels.append(np.inf)  # on other images Q̂ may be higher than it ever was on these
        judged = []
        for level in levels:
            runs = [_stopped(*run, level) for run in watched]
            ended = replace(policy, stop_below=float(level))
            gains = self._areas(runs) - self._static_areas
            judged.append(Judged(ended, self._score(runs), gains, self._toll(ended)))
        return choose_stop(judged, guided=bool(policy.guide))

    def _toll(self, policy: LearnedPolicy) -> float:
        spared = begins_anew(policy.guide[:1], self._model.model.pool)
        return DECIDING if spared and isinstance(policy.simplified(), LearnedPolicy) else 0.0

    def _score(self, runs: Sequence[Trajectory]) -> float:
        return score_against(mean_curve(runs, self._budgets), self._static, SHORTFALL, sooner=0.0)

    def _areas(self, runs: Sequence[Trajectory]) -> NDArray[np.float64]:
        return np.array([accuracy_at(run, self._budgets).mean() for run in runs])


def choose_stop(judged: Sequence[Judged], guided: bool) -> Judged:
    """The best of policies that stop at ever higher levels of Q̂; of equally good ones that which stops first.

    guided : whether they have a guide, at whose end the last one stops. Then that is taken, unless going on
    is better by more than chance explains: what Q̂ finds there may harm on other images.
    """
    best = max(reversed(judged), key=lambda one: one.score)
    return best if not guided or best.surely_better_than(judged[-1]) else judged[-1]


def run_all(
    model: Draft, policy_for: Callable[[Example], Policy], examples: Sequence[Example], threads: int
) -> list[Trajectory]:
    """Run a policy on images, each seeing the model without itself."""
    return map_threads(
        lambda e: rollout(model.model_for(e), policy_for(e), e.evidence, e.truth, model.alpha),
        examples,
        threads,
    )


def fit_temperature(model: Draft, policy: Policy) -> float:
    """The T for which beliefs to the power 1/T, renormalised, fit held-out images best in all states."""
    beliefs, masses = [], []
    for example in model.corpus.held_out:
        own = model.model_for(example)
        for _, _, state in walk(own, policy, example.evidence):
            seen = own.shown(state, example.evidence)
            beliefs.append(seen.log_belief)
            masses.append(example.truth.mass[seen.nodes])
    if not beliefs:
        return 1.0
    logs, mass = np.concatenate(beliefs), np.concatenate(masses)
    # The largest belief against all the others together: that is what confidence is about.
    top = logs.argmax(axis=1)
    chance = np.clip(np.exp(logs[np.arange(len(logs)), top]), 1e-6, 1 - 1e-6)
    right, total = mass[np.arange(len(mass)), top], mass.sum(axis=1)
    odds = np.log(chance) - np.log1p(-chance)
    temperatures = np.geomspace(0.5, 4.0, 31)
    losses = []
    for temperature in temperatures:
        scaled = odds / temperature
        losses.append(float(total @ np.logaddexp(0.0, scaled) - right @ scaled))
    return float(temperatures[int(np.argmin(losses))])


def constant(policy: Policy) -> Callable[[Example], Policy]:
    """The same policy for every image."""
    return lambda example: policy


def _first_walks(proposals: Proposals, count: int, random: np.random.Generator) -> list[Walk]:
    """S-M and the guides on all images, the other sequences and random walks on a part each."""
    common = (proposals.sequences[0], *proposals.guides)
    others = proposals.sequences[1:]
    stride = len(others) + 1
    followed = [
        *((position, sequence) for sequence in common for position in range(count)),
        *((position, other) for i, other in enumerate(others) for position in range(i, count, stride)),
    ]
    drawn = range(len(others), count, stride)
    policies: list[tuple[int, Policy]] = [
        *((position, StaticPolicy(sequence)) for position, sequence in followed),
        *zip(drawn, map(RandomPolicy, random.spawn(len(drawn))), strict=True),
    ]
    return [(position, as_behaviour(policy)) for position, policy in policies]


def _watched(
    model: Draft, learned: LearnedPolicy, example: Example
) -> tuple[NDArray[np.float64], Trajectory]:
    """Q̂ of each action that was taken (nan where the guide had one left), and the trajectory."""
    policy = _Watched(learned)
    own = model.model_for(example)
    trajectory = rollout(own, policy, example.evidence, example.truth, model.alpha)
    return np.array(policy.values[: len(trajectory.actions)]), trajectory


class _Watched:
    """A learned policy that remembers how it valued what it chose."""

    def __init__(self, policy: LearnedPolicy) -> None:
        self._policy = policy
        self.values: list[float] = []

    def choose(self, situation: Situation) -> int | None:
        """Return the policy's choice."""
        action = self._policy.choose(situation)
        if action is not None:
            upcoming = remaining(self._policy.guide, situation.taken)
            guided = any(situation.offered[a] for a in upcoming)
            self.values.append(np.nan if guided else float(self._policy.q.values(situation.phi)[action]))
        return action


def _stopped(values: NDArray[np.float64], trajectory: Trajectory, level: float) -> Trajectory:
    """The trajectory ended before the first action whose Q̂ is not above the level."""
    below = np.flatnonzero(values <= level)
    end = int(below[0]) if len(below) else len(trajectory.actions)
    return Trajectory(
        trajectory.actions[:end],
        trajectory.cost[: end + 1],
        trajectory.loss[: end + 1],
        trajectory.accuracy[: end + 1],
    )
