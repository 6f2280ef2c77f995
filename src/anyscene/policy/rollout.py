"""Runs any policy on one image by predicted costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.model.evidence import ArrayEvidence, Evidence
from anyscene.model.loss import Truth, labeling_loss, pixel_accuracy
from anyscene.model.state import State
from anyscene.policy.model import Model
from anyscene.policy.policies import Policy, Situation


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
    seen = [model.shown(state, evidence) for state in states]
    records = [
        (state.cost, labeling_loss(shown, truth, alpha), pixel_accuracy(shown, truth))
        for state, shown in zip(states, seen, strict=True)
    ]
    cost, loss, accuracy = np.array(records).T
    return Trajectory(np.array(actions, np.int64), cost, loss, accuracy)
