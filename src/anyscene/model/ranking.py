"""A learned policy's choice in a tenth of the time that `LearnedPolicy.choose` takes: the one that labels."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from anyscene.model import ranking_kernels
from anyscene.model.costs import ActionCosts
from anyscene.model.policies import LearnedPolicy, remaining
from anyscene.model.rollout import Model
from anyscene.model.state import State


class Choice(NamedTuple):
    """An action, its cost by the model, and the milliseconds that it typically takes here."""

    action: int
    cost: float
    predicted_ms: float


class Ranking:
    """A model and a learned policy, made ready to choose among actions in one compiled call.

    here : what actions take on this machine, in a frame of the usual size.
    """

    def __init__(self, model: Model, policy: LearnedPolicy, here: ActionCosts) -> None:
        pool, q = model.pool, policy.q
        self._max_steps = model.max_steps
        self._policy = policy
        thresholds, group = pool.groups
        stored, local = (_parts(costs) for costs in (model.costs, here))
        self._arguments = (
            *(pool.needs, pool.chain_of, pool.size_of, thresholds, group, pool.constants),
            *(*stored[:5], model.costs.branching, *stored[5:], *local),
            *(np.ascontiguousarray(part) for part in (q.state, q.action, q.own)),
        )

    def choose(
        self,
        state: State,
        taken: tuple[int, ...],
        frame_share: float = 1.0,
        most_update: float = inf,
        most_split: float = inf,
    ) -> Choice | None:
        """Return the policy's choice after the actions `taken`; None when nothing fits or is worth its cost.

        frame_share : what actions take in this frame, over what they take in one of the usual size.
        most_update, most_split : the milliseconds that actions of either kind may typically take.
        """
        if state.steps >= self._max_steps:
            return None
        action, q, cost, predicted, guided = ranking_kernels.rank(
            state.layers,
            state.area,
            state.belief,
            state.entropy,
            state.previous_entropy,
            state.active,
            state.in_hand,
            state.applied,
            state.maps,
            state.finest,
            state.cost,
            *self._arguments,
            np.array(remaining(self._policy.guide, taken), np.int64),
            self._policy.loyalty,
            frame_share,
            most_update,
            most_split,
        )
        stops = action < 0 or (not guided and q <= self._policy.stop_below)
        return None if stops else Choice(action, cost, predicted)


def _parts(costs: ActionCosts) -> tuple[object, ...]:
    """The costs as `rank` takes them, without branching."""
    scalars = (costs.step, costs.region, costs.tree, costs.input)
    return (*scalars, costs.grow, costs.pooling, costs.items, *costs.item_lists)
