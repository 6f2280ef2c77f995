"""Plans: what to do when the deadline is known beforehand.

Without one, a policy must be good at any moment and pays for every rung that it climbs. Whoever knows how
much time there is goes straight to the best sequence that fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Plan:
    """A static sequence of actions, and what was spent before and after each, in the model's milliseconds."""

    actions: tuple[int, ...]
    cost: tuple[float, ...]

    def step_costs(self, ratio: NDArray[np.float64]) -> tuple[float, ...]:
        """What each action takes where actions take `ratio`, float64[A], times the model's costs."""
        return tuple((np.diff(self.cost) * ratio[list(self.actions)]).tolist())


class Next(NamedTuple):
    """An action of a plan, its cost by the model, and what it takes on this machine."""

    action: int
    cost: float
    ms: float


@dataclass(frozen=True, eq=False)
class Priced:
    """A plan on one machine. costs : what its actions take there; plain numbers, to be added up quickly.

    begins_anew : whether its actions do not build on what was done before, as blends of the image do not.
    """

    plan: Plan
    costs: tuple[float, ...]
    begins_anew: bool

    def rest(self, taken: tuple[int, ...]) -> list[int] | None:
        """Which of its actions are still to be taken after these; None if it cannot go on from there."""
        actions = self.plan.actions
        if actions[: len(taken)] == taken:
            return list(range(len(taken), len(actions)))
        return [i for i, action in enumerate(actions) if action not in taken] if self.begins_anew else None

    def step(self, place: int) -> Next:
        """One of its actions."""
        before, after = self.plan.cost[place : place + 2]
        return Next(self.plan.actions[place], after - before, self.costs[place])


INSURANCE = 0.1
"""The cheapest plan is carried out first if it takes at most this share of the best one's time.

A long action may be stopped at the deadline by its watchdog; then there is something better than the prior.
"""


def pursue(plans: Sequence[Priced], taken: tuple[int, ...], most: float) -> Next | None:
    """The next action of the best plan that can go on from `taken` and whose rest takes at most `most`.

    plans : from worst to best.
    Returns None where the best plan that fits has been carried out, or where there is none.
    """
    for priced in reversed(plans):
        rest = priced.rest(taken)
        if rest is None:
            continue
        if not rest:
            return None
        needed = sum(priced.costs[place] for place in rest)
        if needed <= most:
            insurance = plans[0]
            is_cheap = sum(insurance.costs) <= min(INSURANCE * needed, most - needed)
            if not taken and priced.begins_anew and insurance.begins_anew and is_cheap:
                return insurance.step(0)
            return priced.step(rest[0])
    return None
