"""Who chooses the next action under a clock: a plan, a fixed sequence, or a policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from typing import NamedTuple, Protocol

import numpy as np

from anyscene.costs.deadline import Limits, LocalCosts, frame_share
from anyscene.costs.plans import PlanPrices
from anyscene.engine.learned import Learned
from anyscene.model.action_costs import costs_on_whole
from anyscene.model.actions import begins_anew
from anyscene.model.state import State
from anyscene.policy.decision import Decision
from anyscene.policy.model import Model
from anyscene.policy.plans import Plan, first_labels, pursue
from anyscene.policy.policies import Policy, StaticPolicy, remaining


class Moment(NamedTuple):
    """What is known when the next action is chosen.

    state : gives the state, which may take a while to work out. taken : the actions so far.
    frame : height and width of the working frame. limits : what the next action may typically take.
    """

    state: Callable[[], State]
    taken: tuple[int, ...]
    frame: tuple[int, int]
    limits: Limits


class Chooser(Protocol):
    """Chooses the next action. needs_state : whether it asks for the state."""

    needs_state: bool

    def first_labels(self, frame: tuple[int, int]) -> Decision | None:
        """Return what to do when the first action was stopped; None where nothing is as quick."""
        ...

    def choose(self, moment: Moment) -> Decision | None:
        """Return the next action; None when nothing fits or nothing is worth its cost."""
        ...


class PlanChooser:
    """Carries out the best plan that fits the time that is left."""

    needs_state = False

    def __init__(self, model: Model, plans: Sequence[Plan], local: LocalCosts) -> None:
        self._max_steps = model.max_steps
        self._prices = PlanPrices(plans, model.pool, local.calibration)

    def choose(self, moment: Moment) -> Decision | None:
        """Return the plan's next action; None when it is carried out, or when no plan fits."""
        if len(moment.taken) >= self._max_steps:
            return None
        limits, prices = moment.limits, self._prices.at(moment.frame)
        return pursue(prices, moment.taken, limits.plan, limits.risked, limits.first)

    def first_labels(self, frame: tuple[int, int]) -> Decision | None:
        """Return the action that gives the first labels soonest; None where every plan runs a network."""
        quick = first_labels(self._prices.at(frame))
        return None if quick is None else quick.step(0)


class SequenceChooser:
    """Follows a fixed sequence of blends, which needs no state; see `follows_blindly`."""

    needs_state = False

    def __init__(self, model: Model, sequence: tuple[int, ...], local: LocalCosts) -> None:
        stored, here = (
            costs_on_whole(sequence, model.start(), model.pool, costs)
            for costs in (model.costs, local.actions)
        )
        self._sequence = sequence
        self._decisions = [
            Decision(*step) for step in zip(sequence, stored.tolist(), here.tolist(), strict=True)
        ]

    def first_labels(self, frame: tuple[int, int]) -> Decision | None:
        """Nothing: there is no deadline."""
        return None

    def choose(self, moment: Moment) -> Decision | None:
        """Return the next action of the sequence."""
        upcoming = remaining(self._sequence, moment.taken)
        if not upcoming:
            return None
        decision = self._decisions[-len(upcoming)]
        return decision._replace(predicted_ms=decision.predicted_ms * frame_share(moment.frame))


class PolicyChooser:
    """Asks a policy, which looks at the state."""

    needs_state = True

    def __init__(self, model: Model, policy: Policy, local: LocalCosts) -> None:
        self._model = model
        self._policy = policy
        self._local = local

    def first_labels(self, frame: tuple[int, int]) -> Decision | None:
        """Nothing: a policy takes small steps."""
        return None

    def choose(self, moment: Moment) -> Decision | None:
        """Offer the policy what changes something and fits."""
        situation = self._model.situation(moment.state(), moment.taken)
        pool = self._model.pool
        predicted = self._local.of_actions(
            situation.state, pool, situation.coverage, frame_share(moment.frame)
        )
        limit = np.where(pool.chain_of >= 0, moment.limits.update, moment.limits.split)
        action = self._policy.choose(replace(situation, offered=situation.offered & (predicted <= limit)))
        if action is None:
            return None
        return Decision(action, float(situation.costs[action]), float(predicted[action]))


def follows_blindly(policy: Policy, model: Model) -> bool:
    """Tell whether a policy is a fixed sequence of different blends: then it needs no state."""
    if not isinstance(policy, StaticPolicy):
        return False
    sequence = policy.sequence
    is_short = len(set(sequence)) == len(sequence) <= model.max_steps
    return is_short and begins_anew(sequence, model.pool)


AMPLE = 4.0
"""A budget of this many times what a policy typically takes lets it come to its end on any image."""


class Choosers(NamedTuple):
    """Who chooses by a deadline, and who without one.

    ample_ms : from this budget on, a policy that looks at states comes to its end in time. So it chooses by
    the deadline, too: a long budget must not give worse labels than no budget.
    """

    by_deadline: Chooser
    without: Chooser
    ample_ms: float = inf

    def for_budget(self, budget_ms: float) -> Chooser:
        """Return who chooses within a budget; infinity where there is none."""
        return self.by_deadline if budget_ms < self.ample_ms and budget_ms < inf else self.without


def choosers_for(learned: Learned, local: LocalCosts) -> Choosers:
    """Return who chooses for a model: plans by a deadline, where there are any, else its policy."""
    model, policy = learned.model, learned.policy
    by_policy = PolicyChooser(model, policy, local)
    by_deadline: Chooser = PlanChooser(model, learned.plans, local) if learned.plans else by_policy
    if isinstance(policy, StaticPolicy) and follows_blindly(policy, model):
        return Choosers(by_deadline, SequenceChooser(model, policy.sequence, local))
    return Choosers(by_deadline, by_policy, ample_ms(learned, local))


def ample_ms(learned: Learned, local: LocalCosts) -> float:
    """Return a budget in which a model's policy comes to its end on any image; infinity if none is known."""
    if learned.policy_ms is None:
        return inf
    slower_here = max(1.0, float(local.actions.items.sum() / max(learned.model.costs.items.sum(), 1e-9)))
    return AMPLE * learned.policy_ms * slower_here
