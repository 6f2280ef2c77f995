"""Plans: what to do when the deadline is known beforehand.

Without one, a policy must be good at any moment and pays for every rung that it climbs. Whoever knows how
much time there is goes straight to the best sequence that fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple


@dataclass(frozen=True)
class Plan:
    """A static sequence of actions, and what was spent before and after each, in the model's milliseconds."""

    actions: tuple[int, ...]
    cost: tuple[float, ...]

    def step_costs(self) -> list[float]:
        """What each action costs."""
        return [after - before for before, after in pairwise(self.cost)]


class Next(NamedTuple):
    """An action of a plan, its cost by the model, what it takes on this machine, and `Priced.rest_ms`."""

    action: int
    cost: float
    ms: float
    rest_ms: float


@dataclass(frozen=True, eq=False)
class Priced:
    """A plan on one machine. costs : what its actions take there; plain numbers, to be added up quickly.

    rest_ms : what a call takes besides them, to paint labels above all. begins_anew : whether its actions do
    not build on what was done before, as blends of the image do not. runs_network : whether it does; what is
    said without one is poor.
    """

    plan: Plan
    costs: tuple[float, ...]
    rest_ms: float
    begins_anew: bool
    runs_network: bool = False

    def left(self, taken: tuple[int, ...]) -> list[int] | None:
        """Which of its actions are still to be taken after these; None if it cannot go on from there."""
        actions = self.plan.actions
        if actions[: len(taken)] == taken:
            return list(range(len(taken), len(actions)))
        return [i for i, action in enumerate(actions) if action not in taken] if self.begins_anew else None

    def insures_for(self, premium: float) -> bool:
        """Whether it may be carried out first, for so many milliseconds."""
        return self.begins_anew and len(self.costs) == 1 and self.costs[0] <= premium

    def step(self, place: int) -> Next:
        """One of its actions."""
        before, after = self.plan.cost[place : place + 2]
        return Next(self.plan.actions[place], after - before, self.costs[place], self.rest_ms)


INSURANCE = 0.025
"""Before the best plan that fits another one is carried out, if there is time, that takes this share of it.

A long action may be stopped at the deadline by its watchdog; then there is something better than the prior.
(A tenth, as it was, made the shortest plans longer by as much.)
"""


def pursue(
    plans: Sequence[Priced], taken: tuple[int, ...], most: float, insured: bool = True, risked: float = 0.0
) -> Next | None:
    """The next action of the best plan that can go on from `taken` and ends with labels after at most `most`.

    plans : from worst to best. insured : whether another may come first, see `INSURANCE`.
    risked : what the cheapest plan with a network may take where only plans without one fit. It is stopped if
    it takes longer after all; where `insured`, one that fits is carried out before it.
    Returns None where the best plan that fits has been carried out, or where there is none.
    """
    safe = _best_that_fits(plans, taken, most)
    best, left = safe or (None, [])
    if (best is None or not best.runs_network) and not (left and insured):
        bold = _cheapest_with_network(plans, taken)
        if bold and _needed(bold, [0]) <= risked:
            return bold.step(0)
    if best is None or not left:
        return None
    needed = _needed(best, left)
    is_insured = insured and not taken and best.begins_anew
    premium = min(INSURANCE * needed, most - needed) if is_insured else 0.0
    return next((plan.step(0) for plan in reversed(plans) if plan.insures_for(premium)), best.step(left[0]))


def _cheapest_with_network(plans: Sequence[Priced], taken: tuple[int, ...]) -> Priced | None:
    """The cheapest plan of one action that runs a network; None if one has run."""
    poor = {action for plan in plans if not plan.runs_network for action in plan.plan.actions}
    if not poor.issuperset(taken):
        return None
    single = (plan for plan in plans if plan.runs_network and plan.begins_anew and len(plan.costs) == 1)
    return next(single, None)


def _best_that_fits(
    plans: Sequence[Priced], taken: tuple[int, ...], most: float
) -> tuple[Priced, list[int]] | None:
    """The best plan that was carried out or can be, within so much time, and what is left of it."""
    for priced in reversed(plans):
        left = priced.left(taken)
        if left is not None and (not left or _needed(priced, left) <= most):
            return priced, left
    return None


def _needed(priced: Priced, left: Sequence[int]) -> float:
    """What is left of a plan takes, labels included."""
    return sum(priced.costs[place] for place in left) + priced.rest_ms
