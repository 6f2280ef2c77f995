"""φ(s, a): what the Q-function sees of a state and an action (section 5.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.model import kernels
from anyscene.model.actions import Pool
from anyscene.model.costs import Coverage
from anyscene.model.state import State

MARGIN_EDGES = (0.2, 0.4, 0.6, 0.8)
STRONGEST = 8
"""How many of the state features, the first, interact with every action (besides the active layers)."""


@dataclass(frozen=True)
class Phi:
    """The meta-features of a state and of every action in it.

    Q is linear in all three parts: the weights of `state` and `action` are common to all actions, each action
    has its own weights for `own`. Together they are the paper's φ with one block of columns for each action.

    state : float64[F]. action : float64[A, G]. own : float64[A, K].
    """

    state: NDArray[np.float64]
    action: NDArray[np.float64]
    own: NDArray[np.float64]


def describe_state(state: State, pool: Pool) -> NDArray[np.float64]:
    """The paper's three groups of state features: all regions, active regions, layers; and what was spent."""
    area, entropy, margin = state.area, state.entropy, kernels.top_two_margin(state.belief)
    gap = state.previous_entropy - entropy
    shown = np.where(state.active, area, 0)
    active_area = max(float(shown.sum()), 1e-12)
    layers = np.bincount(state.layers, area, minlength=pool.layer_count)
    active_layers = np.bincount(state.layers, shown, minlength=pool.layer_count)
    margins = np.bincount(np.digitize(margin, MARGIN_EDGES), area, minlength=len(MARGIN_EDGES) + 1)
    strongest = [
        1.0,
        area @ entropy,
        area @ margin,
        active_area,
        shown @ entropy / active_area,
        shown @ gap / active_area,
        np.log1p(state.applied.sum()),
        np.log1p(state.cost),
    ]
    untouched = not state.applied.any()
    used = state.in_hand.any(axis=1)
    rest = [area @ gap, 1 / (1 + state.cost)]
    fresh_layers = active_layers if untouched else np.zeros(pool.layer_count)
    return np.concatenate([strongest, active_layers, fresh_layers, layers, margins, used, rest])


def describe(state: State, pool: Pool, coverage: Coverage, costs: NDArray[np.float64]) -> Phi:
    """Compute φ(s, a) for every action of the pool."""
    of_state = describe_state(state, pool)
    of_action = np.column_stack(
        [
            pool.chain_of < 0,
            np.nan_to_num(pool.thresholds),
            np.log2(1 + pool.size_of),
            np.log(costs),
            coverage.area,
            coverage.doubt,
            coverage.area / costs,
            coverage.doubt / costs,
            pool.needs & ~state.in_hand.any(axis=1),
        ]
    )
    # Every action weighs the strongest state features and the layers of the active leaves, fresh or updated
    # before, for itself: a chain is good on the layers it was fitted to, and where little was applied before
    # it. A reward is a gain divided by the cost, so each comes plain and divided.
    strongest = of_state[: STRONGEST + 2 * pool.layer_count]
    varied = np.column_stack([np.broadcast_to(strongest, (len(costs), len(strongest))), coverage.doubt])
    return Phi(of_state, of_action, np.hstack([varied, varied / costs[:, None]]))
