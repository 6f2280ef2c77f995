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


NOTHING_FITS = -1
DONE = -2


def pursue(
    plans: Sequence[Plan], step_costs: Sequence[NDArray[np.float64]], taken: tuple[int, ...], most: float
) -> int:
    """The next action of the best plan that goes on from `taken` and whose rest takes at most `most`.

    plans : from worst to best. step_costs : of each plan's actions.
    Returns DONE where the best plan that fits has been carried out, NOTHING_FITS where there is none.
    """
    done = len(taken)
    for plan, costs in zip(reversed(plans), reversed(step_costs), strict=True):
        if plan.actions[:done] == taken:
            if len(plan.actions) == done:
                return DONE
            if costs[done:].sum() <= most:
                return plan.actions[done]
    return NOTHING_FITS
