"""Plans: what to do when the deadline is known beforehand.

Without one, a policy must be good at any moment and pays for every rung that it climbs. Whoever knows how
much time there is goes straight to the best sequence that fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Plan:
    """A static sequence of actions, and what was spent before and after each, in the model's milliseconds."""

    actions: tuple[int, ...]
    cost: tuple[float, ...]

    def step_costs(self, ratio: NDArray[np.float64]) -> NDArray[np.float64]:
        """What each action takes where actions take `ratio`, float64[A], times the model's costs."""
        return np.diff(self.cost) * ratio[list(self.actions)]


@dataclass(frozen=True, eq=False)
class Priced:
    """A plan on one machine. costs : float64[n], what its actions take there.

    begins_anew : whether its actions do not build on what was done before, as blends of the image do not.
    """

    plan: Plan
    costs: NDArray[np.float64]
    begins_anew: bool

    def rest(self, taken: tuple[int, ...]) -> list[int] | None:
        """Which of its actions are still to be taken after these; None if it cannot go on from there."""
        actions = self.plan.actions
        if actions[: len(taken)] == taken:
            return list(range(len(taken), len(actions)))
        return [i for i, action in enumerate(actions) if action not in taken] if self.begins_anew else None


INSURANCE = 0.1
"""The cheapest plan is carried out first if it takes at most this share of the best one's time.

A long action may be stopped at the deadline by its watchdog; then there is something better than the prior.
"""

NOTHING_FITS = -1
DONE = -2


def pursue(plans: Sequence[Priced], taken: tuple[int, ...], most: float) -> int:
    """The next action of the best plan that can go on from `taken` and whose rest takes at most `most`.

    plans : from worst to best.
    Returns DONE where the best plan that fits has been carried out, NOTHING_FITS where there is none.
    """
    for priced in reversed(plans):
        rest = priced.rest(taken)
        if rest is None:
            continue
        if not rest:
            return DONE
        needed = priced.costs[rest].sum()
        if needed <= most:
            insurance = plans[0]
            is_cheap = insurance.costs.sum() <= min(INSURANCE * needed, most - needed)
            if not taken and priced.begins_anew and insurance.begins_anew and is_cheap:
                return insurance.plan.actions[0]
            return priced.plan.actions[rest[0]]
    return NOTHING_FITS
