"""Which action to take next: by any policy, or by the learned one in a fraction of the time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from typing import NamedTuple, Protocol

import numpy as np

from anyscene.engine import decision_kernels
from anyscene.engine.foresight import Foresight, Most, frame_share
from anyscene.engine.plan_prices import PlanPrices
from anyscene.model.costs import ActionCosts
from anyscene.model.plans import Plan, pursue
from anyscene.model.policies import LearnedPolicy, Policy, remaining
from anyscene.model.rollout import Model
from anyscene.model.state import State


class Decision(NamedTuple):
    """An action, its cost by the model, and the milliseconds that it typically takes here.

    rest_ms : what the call takes besides a plan's actions; None where no plan decides.
    """

    action: int
    cost: float
    predicted_ms: float
    rest_ms: float | None = None


class Decider(Protocol):
    """Chooses among the actions that typically take at most `most` milliseconds here.

    state : gives the state after the actions `taken`; a plan does without it. frame : height and width of the
    working frame.
    """

    def decide(
        self, state: Callable[[], State], taken: tuple[int, ...], frame: tuple[int, int], most: Most
    ) -> Decision | None:
        """Return the choice; None when nothing fits or nothing is worth its cost."""
        ...


class PolicyDecider:
    """Asks a policy, whatever it is."""

    def __init__(self, model: Model, policy: Policy, foresight: Foresight) -> None:
        self._model = model
        self._policy = policy
        self._foresight = foresight

    def decide(
        self, state: Callable[[], State], taken: tuple[int, ...], frame: tuple[int, int], most: Most
    ) -> Decision | None:
        """Offer the policy what changes something and fits."""
        situation = self._model.situation(state(), taken)
        pool, coverage = self._model.pool, situation.coverage
        predicted = self._foresight.of_actions(situation.state, pool, coverage, frame_share(frame))
        limit = np.where(pool.chain_of >= 0, most.update, most.split)
        action = self._policy.choose(replace(situation, offered=situation.offered & (predicted <= limit)))
        if action is None:
            return None
        return Decision(action, float(situation.costs[action]), float(predicted[action]))


class LearnedDecider:
    """Decides as `PolicyDecider` does with a learned policy, in one compiled call.

    By a deadline it carries out the best of the model's plans that fits; without plans the policy decides.
    """

    def __init__(
        self, model: Model, policy: LearnedPolicy, foresight: Foresight, plans: Sequence[Plan] = ()
    ) -> None:
        pool, q = model.pool, policy.q
        self._max_steps = model.max_steps
        self._policy = policy
        self._prices = PlanPrices(plans, pool, foresight.calibration) if plans else None
        thresholds, group = pool.groups
        stored, local = (_parts(costs) for costs in (model.costs, foresight.actions))
        self._arguments = (
            *(pool.needs, pool.chain_of, pool.size_of, thresholds, group, pool.constants),
            *(*stored[:5], model.costs.branching, *stored[5:], *local),
            *(np.ascontiguousarray(part) for part in (q.state, q.action, q.own)),
        )

    def decide(
        self, state: Callable[[], State], taken: tuple[int, ...], frame: tuple[int, int], most: Most
    ) -> Decision | None:
        """Return the plan's next action, or the policy's choice among those that change something and fit."""
        if self._prices and most.plan < inf:
            done = len(taken) >= self._max_steps
            # Whatever is cheaper than every plan is not worth it.
            planned = None if done else pursue(self._prices.at(frame), taken, most.plan, most.insured)
            return None if planned is None else Decision(*planned)
        here = state()
        if here.steps >= self._max_steps:
            return None
        action, q, cost, predicted, guided = decision_kernels.rank(
            here.layers,
            here.area,
            here.belief,
            here.entropy,
            here.previous_entropy,
            here.active,
            here.in_hand,
            here.applied,
            here.maps,
            here.finest,
            here.cost,
            *self._arguments,
            np.array(remaining(self._policy.guide, taken), np.int64),
            self._policy.loyalty,
            frame_share(frame),
            most.update,
            most.split,
        )
        stops = action < 0 or (not guided and q <= self._policy.stop_below)
        return None if stops else Decision(action, cost, predicted)


def decider_for(model: Model, policy: Policy, foresight: Foresight, plans: Sequence[Plan] = ()) -> Decider:
    """Return the fastest way to decide by a policy; plans : what a learned one does by a deadline."""
    if isinstance(policy, LearnedPolicy) and model.pool.chains:
        return LearnedDecider(model, policy, foresight, plans)
    return PolicyDecider(model, policy, foresight)


def _parts(costs: ActionCosts) -> tuple[object, ...]:
    """The costs as `rank` takes them, without branching."""
    scalars = (costs.step, costs.region, costs.tree, costs.input)
    return (*scalars, costs.grow, costs.pooling, costs.items, *costs.item_lists)
