"""Runs any policy on one image by predicted costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anyscene.model.actions import Pool, advance, offered
from anyscene.model.costs import ActionCosts, coverage
from anyscene.model.detail import View, view
from anyscene.model.evidence import ArrayEvidence, Evidence
from anyscene.model.loss import Truth, labeling_loss, pixel_accuracy
from anyscene.model.policies import Policy, Situation
from anyscene.model.state import State, initial_state


@dataclass(frozen=True)
class Model:
    """What a learned model does an image with: its actions, their costs, where it starts, when it ends.

    prior : float32[C], the root's belief. max_steps : the horizon T.
    """

    pool: Pool
    costs: ActionCosts
    prior: NDArray[np.float32]
    max_steps: int

    def start(self) -> State:
        """Return the state before the first action: the same for every image."""
        return self._first

    @cached_property
    def _first(self) -> State:
        sets, chains = len(self.pool.sets), len(self.pool.chains)
        return initial_state(self.prior, sets, self.pool.layer_count, chains, self.costs.start)

    def situation(self, state: State, taken: tuple[int, ...] = ()) -> Situation:
        """Work out what is offered in a state and what it would cost."""
        covered = coverage(state, self.pool, self.costs.branching)
        costs = self.costs.of_actions(state, self.pool, covered)
        mask = offered(state, self.pool)
        if state.steps >= self.max_steps:
            mask = np.zeros_like(mask)
        return Situation(state, self.pool, mask, costs, covered, taken)

    def advance(self, situation: Situation, action: int, evidence: Evidence) -> State:
        """Take an offered action at its predicted cost."""
        cost = float(situation.costs[action])
        return advance(situation.state, self.pool.actions[action], self.pool, evidence, cost)

    def view(self, state: State, evidence: ArrayEvidence) -> View:
        """What a state shows of an image whose whole tree is in hand."""
        return view(state, self.pool, evidence)


@dataclass(frozen=True)
class Trajectory:
    """What happened on one image; entry 0 is the state before the first action.

    actions : int64[T]. cost, loss, accuracy : float64[T + 1], cost being the milliseconds spent so far.
    """

    actions: NDArray[np.int64]
    cost: NDArray[np.float64]
    loss: NDArray[np.float64]
    accuracy: NDArray[np.float64]

    def rewards(self) -> NDArray[np.float64]:
        """Reward of each action (Eq. 4)."""
        return -np.diff(self.loss) / np.diff(self.cost)


def walk(
    model: Model,
    policy: Policy,
    evidence: Evidence,
    start: State | None = None,
    budget: float = np.inf,
    taken: tuple[int, ...] = (),
) -> Iterator[tuple[Situation, int, State]]:
    """Yield (situation, action, next state) until the policy stops or the next action passes the budget.

    taken : the actions that led to `start`; a policy with a guide goes by them.
    """
    state = model.start() if start is None else start
    while True:
        situation = model.situation(state, taken)
        action = policy.choose(situation)
        if action is None or state.cost + situation.costs[action] > budget:
            return
        state = model.advance(situation, action, evidence)
        taken = (*taken, action)
        yield situation, action, state


def rollout(model: Model, policy: Policy, evidence: ArrayEvidence, truth: Truth, alpha: float) -> Trajectory:
    """Run a policy on one image and record its costs, losses and accuracies."""
    state = model.start()
    actions: list[int] = []
    states = [state]
    for _, action, state in walk(model, policy, evidence):
        actions.append(action)
        states.append(state)
    seen = [model.view(state, evidence) for state in states]
    records = [
        (state.cost, labeling_loss(shown, truth, alpha), pixel_accuracy(shown, truth))
        for state, shown in zip(states, seen, strict=True)
    ]
    cost, loss, accuracy = np.array(records).T
    return Trajectory(np.array(actions, np.int64), cost, loss, accuracy)
