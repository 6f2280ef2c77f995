"""Plans: what to do when the deadline is known beforehand.

Without a deadline a policy must be good at any moment, and pays for every step on the way. With one, the best
sequence that fits can be carried out at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from anyscene.policy.decision import Decision


@dataclass(frozen=True)
class Plan:
    """A static sequence of actions, and what was spent before and after each, in the model's milliseconds."""

    actions: tuple[int, ...]
    cost: tuple[float, ...]

    def step_costs(self) -> list[float]:
        """What each action costs."""
        return [after - before for before, after in pairwise(self.cost)]


@dataclass(frozen=True, eq=False)
class Priced:
    """A plan and what it takes on one machine.

    costs : the milliseconds of its actions; plain numbers, which are added up quickly.
    rest_ms : what a call takes besides the actions, to paint labels above all.
    begins_anew : whether its actions build on nothing that was done before, as blends of the image do.
    runs_network : whether some action runs a network; labels without one are poor.
    """

    plan: Plan
    costs: tuple[float, ...]
    rest_ms: float
    begins_anew: bool
    runs_network: bool = False

    def left(self, taken: tuple[int, ...]) -> list[int] | None:
        """Return which of its actions are still to be taken; None if it cannot go on from what was taken."""
        actions = self.plan.actions
        if actions[: len(taken)] == taken:
            return list(range(len(taken), len(actions)))
        return [i for i, action in enumerate(actions) if action not in taken] if self.begins_anew else None

    def insures_for(self, premium: float) -> bool:
        """Tell whether this plan may come before another, at a price of at most `premium` milliseconds."""
        return self.begins_anew and len(self.costs) == 1 and self.costs[0] <= premium

    def step(self, place: int) -> Decision:
        """Return one of its actions."""
        before, after = self.plan.cost[place : place + 2]
        return Decision(self.plan.actions[place], after - before, self.costs[place], self.rest_ms)


INSURANCE = 0.025
"""Before the best plan, a plan that takes at most this share of its time is carried out, if there is time.

A long action may be stopped at the deadline. Then there is something better to show than the prior.
"""


FIRST_LOOK = 0.2
"""A plan comes after the smallest network if that takes at most this share of its time.

Labels without a network are so much poorer that one long network stopped in a hundred would cost more than
the time for a first look does. If the look is slow, there is still time for another plan.
"""


def pursue(
    plans: Sequence[Priced], taken: tuple[int, ...], most: float, risked: float = 0.0, first: float = 0.0
) -> Decision | None:
    """Return the next action of the best plan that can go on from `taken` and fits.

    plans : from worst to best. most : milliseconds for the rest of a plan and its labels.
    risked : milliseconds for the cheapest plan with a network, where only plans without one fit. It is
    stopped if it takes longer, and comes first only if the first labels can still be made then.
    first : milliseconds for the first labels, where nothing was done yet and no plan fits.
    Returns None where the best plan that fits has been carried out, or where no plan fits.
    """
    best, left = _best_that_fits(plans, taken, most) or (None, [])
    quick = None if taken else first_labels(plans)
    if best is None or not best.runs_network:
        bold = _cheapest_with_network(plans, taken)
        ahead = quick.costs[0] if quick else 0.0
        # What was begun is carried out first; before anything was, the first labels may still follow.
        if bold and (quick or not left) and ahead + _needed(bold, [0]) <= risked:
            return bold.step(0)
    if best is None and not taken:
        return quick.step(0) if quick and _needed(quick, [0]) <= first else None
    if best is None or not left:
        return None
    needed = _needed(best, left)
    if look := _first_look(plans, taken, best):
        return look.step(0)
    premium = min(INSURANCE * needed, most - needed) if best.begins_anew and not taken else 0.0
    return next((plan.step(0) for plan in reversed(plans) if plan.insures_for(premium)), best.step(left[0]))


def first_labels(plans: Sequence[Priced]) -> Priced | None:
    """Return the cheapest plan of one action that runs no network; it cannot take much longer than usual."""
    quick = (plan for plan in plans if not plan.runs_network and plan.begins_anew and len(plan.costs) == 1)
    return min(quick, key=lambda plan: plan.costs[0] + plan.rest_ms, default=None)


def _cheapest_with_network(plans: Sequence[Priced], taken: tuple[int, ...]) -> Priced | None:
    """The cheapest plan of one action that runs a network; None if a network has run."""
    poor = {action for plan in plans if not plan.runs_network for action in plan.plan.actions}
    if not poor.issuperset(taken):
        return None
    single = (plan for plan in plans if plan.runs_network and plan.begins_anew and len(plan.costs) == 1)
    return next(single, None)


def _best_that_fits(
    plans: Sequence[Priced], taken: tuple[int, ...], most: float
) -> tuple[Priced, list[int]] | None:
    """The best plan that was carried out or still fits, and what is left of it."""
    for priced in reversed(plans):
        left = priced.left(taken)
        if left is None:
            continue
        look = _first_look(plans, taken, priced)
        ahead = look.costs[0] if look else 0.0
        if not left or ahead + _needed(priced, left) <= most:
            return priced, left
    return None


def _first_look(plans: Sequence[Priced], taken: tuple[int, ...], best: Priced) -> Priced | None:
    """The plan of the smallest network, if nothing was done yet and it comes before a much longer one."""
    look = None if taken or not best.begins_anew else _cheapest_with_network(plans, taken)
    return look if look and look.costs[0] <= FIRST_LOOK * sum(best.costs) else None


def _needed(priced: Priced, left: Sequence[int]) -> float:
    """The milliseconds that the rest of a plan takes, labels included."""
    return sum(priced.costs[place] for place in left) + priced.rest_ms
