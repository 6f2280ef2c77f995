"""Which action to take next: by any policy, or by the learned one in a fraction of the time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from typing import NamedTuple, Protocol

import numpy as np

from anyscene.engine.foresight import UNLIMITED, Foresight, Most, frame_share
from anyscene.engine.plan_prices import PlanPrices
from anyscene.model.actions import begins_anew
from anyscene.model.costs import costs_on_whole
from anyscene.model.plans import Plan, pursue
from anyscene.model.policies import LearnedPolicy, Policy, remaining
from anyscene.model.ranking import Ranking
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
    working frame. needs_state : whether it asks for states where there is no deadline.
    """

    needs_state: bool

    def decide(
        self, state: Callable[[], State], taken: tuple[int, ...], frame: tuple[int, int], most: Most
    ) -> Decision | None:
        """Return the choice; None when nothing fits or nothing is worth its cost."""
        ...


class PolicyDecider:
    """Asks a policy, whatever it is."""

    needs_state = True

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

    By a deadline it carries out the best of the model's plans that fits; without plans the policy decides. A
    policy that only follows its guide needs no state for that where the guide's actions are blends.
    """

    def __init__(
        self, model: Model, policy: LearnedPolicy, foresight: Foresight, plans: Sequence[Plan] = ()
    ) -> None:
        self._max_steps = model.max_steps
        self._prices = PlanPrices(plans, model.pool, foresight.calibration) if plans else None
        self._ranking = Ranking(model, policy, foresight.actions)
        self._guide = policy.guide
        self._guided = _steps_of_guide(model, policy, foresight)
        self.needs_state = self._guided is None

    def decide(
        self, state: Callable[[], State], taken: tuple[int, ...], frame: tuple[int, int], most: Most
    ) -> Decision | None:
        """Return the plan's next action, or the policy's choice among those that change something and fit."""
        if self._prices and most.plan < inf:
            done = len(taken) >= self._max_steps
            # Whatever is cheaper than every plan is not worth it.
            prices = self._prices.at(frame)
            planned = None if done else pursue(prices, taken, most.plan, most.insured, most.risked)
            return None if planned is None else Decision(*planned)
        if self._guided is not None and most == UNLIMITED:
            upcoming = remaining(self._guide, taken)
            step = self._guided[-len(upcoming)] if upcoming else None
            return step and step._replace(predicted_ms=step.predicted_ms * frame_share(frame))
        choice = self._ranking.choose(state(), taken, frame_share(frame), most.update, most.split)
        return None if choice is None else Decision(*choice)


def _steps_of_guide(model: Model, policy: LearnedPolicy, foresight: Foresight) -> list[Decision] | None:
    """The decisions of a policy that only follows its guide, in a frame of the usual size; None if a state
    decides.
    """
    guide, pool = policy.guide, model.pool
    is_plain = begins_anew(guide, pool) and len(set(guide)) == len(guide) <= model.max_steps
    if not policy.only_follows or not is_plain:
        return None
    stored, local = (
        costs_on_whole(guide, model.start(), pool, costs) for costs in (model.costs, foresight.actions)
    )
    return [Decision(*step) for step in zip(guide, stored.tolist(), local.tolist(), strict=True)]


def decider_for(model: Model, policy: Policy, foresight: Foresight, plans: Sequence[Plan] = ()) -> Decider:
    """Return the fastest way to decide by a policy; plans : what a learned one does by a deadline."""
    if isinstance(policy, LearnedPolicy) and model.pool.chains:
        return LearnedDecider(model, policy, foresight, plans)
    return PolicyDecider(model, policy, foresight)
