"""Labeling an image as a process that policy iteration can walk: rewards need the truth."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anyscene.learning.corpus import Example
from anyscene.learning.policy.policy_iteration import Behaviour, Visit
from anyscene.model.actions import Split, Update, chain_scores, split, updated
from anyscene.model.loss import confusion, labeling_loss, pixel_accuracy, reward
from anyscene.model.shown import Shown
from anyscene.model.state import State
from anyscene.policy.model import Model
from anyscene.policy.phi import Phi, describe_state
from anyscene.policy.policies import Policy, Situation


class ScoreCache:
    """What each chain adds to the active leaves' log-beliefs after every one of its bundles.

    Scores depend on the leaves, their features and their parents' beliefs, none of which an update changes,
    so between two splits each chain runs once however many bundles are tried.
    """

    def __init__(self, model: Model, example: Example) -> None:
        self._model = model
        self._example = example
        self._parents: NDArray[np.float32] | None = None
        self._scores: dict[int, dict[int, NDArray[np.float32]]] = {}

    def scores(self, state: State, action: Update) -> NDArray[np.float32]:
        """Return what the bundle adds to the active leaves' log-beliefs."""
        if state.parent_belief is not self._parents:
            self._parents, self._scores = state.parent_belief, {}
        if action.chain not in self._scores:
            self._scores[action.chain] = self._run(state, action.chain)
        known = self._scores[action.chain]
        applied = int(state.applied[action.chain])
        return known[action.size] - known[applied] if applied else known[action.size]

    def _run(self, state: State, index: int) -> dict[int, NDArray[np.float32]]:
        pool = self._model.pool
        sizes = np.unique(pool.size_of[pool.chain_of == index]).tolist()
        chain = pool.chains[index]
        sums = chain_scores(state, chain, pool, self._example.evidence, 0, sizes)
        return dict(zip(sizes, sums, strict=True))


class ImageVisit:
    """One state of labeling one image (`policy_iteration.Visit`)."""

    def __init__(self, model: Model, example: Example, alpha: float, state: State, cache: ScoreCache) -> None:
        self.state = state
        self._model = model
        self._example = example
        self._alpha = alpha
        self._cache = cache

    @cached_property
    def situation(self) -> Situation:
        """What a policy sees here."""
        return self._model.situation(self.state)

    @property
    def offered(self) -> NDArray[np.bool_]:
        """Which actions may be taken here."""
        return self.situation.offered

    @property
    def ends(self) -> bool:
        """Whether nothing is offered here."""
        return not self.offered.any()

    @property
    def phi(self) -> Phi:
        """The meta-features of this state and its actions."""
        return self.situation.phi

    @property
    def state_features(self) -> NDArray[np.float64]:
        """The meta-features of this state."""
        return describe_state(self.state)

    @cached_property
    def loss(self) -> float:
        """The labeling loss here (Eq. 3)."""
        return labeling_loss(self.seen, self._example.truth, self._alpha)

    @cached_property
    def accuracy(self) -> float:
        """The share of the labelled pixels that are right here."""
        return pixel_accuracy(self.seen, self._example.truth)

    @property
    def confusion(self) -> NDArray[np.float64]:
        """Share of the labelled pixels by true class and label, float64[C, C]."""
        return confusion(self.seen, self._example.truth)

    @cached_property
    def seen(self) -> Shown:
        """What the state shows."""
        return self._model.shown(self.state, self._example.evidence)

    def take(self, action: int) -> tuple[float, ImageVisit]:
        """Return the reward of an offered action and the state it leads to."""
        chosen = self._model.pool.actions[action]
        cost = float(self.situation.costs[action])
        if isinstance(chosen, Split):
            state = split(self.state, chosen.threshold, self._model.pool, self._example.evidence)
        else:
            scores = self._cache.scores(self.state, chosen)
            state = updated(self.state, chosen, self._model.pool, scores)
        state = replace(state, cost=self.state.cost + cost)
        after = ImageVisit(self._model, self._example, self._alpha, state, self._cache)
        return reward(self.loss, after.loss, cost), after

    def all_rewards(self) -> NDArray[np.float64]:
        """Reward of every action; what is not offered would change nothing and earns nothing."""
        return np.array(
            [self.take(action)[0] if offered else 0.0 for action, offered in enumerate(self.offered)]
        )


def first_visit(model: Model, example: Example, alpha: float) -> ImageVisit:
    """Return the state before the first action."""
    return ImageVisit(model, example, alpha, model.start(), ScoreCache(model, example))


def as_behaviour(policy: Policy) -> Behaviour:
    """Let a policy explore: it sees the situation and what was taken before."""

    def behaviour(visit: Visit, taken: tuple[int, ...]) -> int | None:
        assert isinstance(visit, ImageVisit)
        seen = visit.situation
        return policy.choose(Situation(seen.state, seen.pool, seen.offered, seen.costs, seen.coverage, taken))

    return behaviour
