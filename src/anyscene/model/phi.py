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


@dataclass(frozen=True)
class Phi:
    """The meta-features of every action in one state.

    Q is linear in both parts: the weights of `shared` are common to all actions, each action has its own
    weights for `own`. Together they are the paper's φ with one block of columns for each action.

    shared : float64[A, G]. own : float64[A, K].
    """

    shared: NDArray[np.float64]
    own: NDArray[np.float64]


def describe(state: State, pool: Pool, coverage: Coverage, costs: NDArray[np.float64]) -> Phi:
    """Compute φ(s, a) for every action of the pool."""
    entropy, margin = state.entropy, kernels.top_two_margin(state.belief)
    gap = state.previous_entropy - entropy
    shown = np.where(state.active, state.area, 0)
    layer_areas = np.bincount(state.layers, state.area, minlength=pool.layer_count)
    active_layers = np.bincount(state.layers, shown, minlength=pool.layer_count)
    margins = np.bincount(np.digitize(margin, MARGIN_EDGES), state.area, minlength=len(MARGIN_EDGES) + 1)
    overall = [state.area @ entropy, state.area @ gap, state.area @ margin]
    active_area = max(float(shown.sum()), 1e-12)
    active = [active_area, shown @ entropy / active_area, shown @ gap / active_area]
    of_state = np.concatenate([overall, margins, active, layer_areas, active_layers, state.in_hand])

    is_split = pool.chain_of < 0
    of_action = np.column_stack(
        [
            is_split,
            np.nan_to_num(pool.thresholds),
            np.log2(1 + pool.size_of),
            np.log(costs),
            coverage.area,
            coverage.doubt,
            coverage.area / costs,
            coverage.doubt / costs,
            pool.needs & ~state.in_hand,
        ]
    )
    shared = np.hstack([np.broadcast_to(of_state, (len(costs), len(of_state))), of_action])

    # The few strongest state features, for each action apart; a reward is a gain divided by the cost, so
    # each comes plain and divided.
    layers = np.arange(pool.layer_count)
    strongest = [1.0, *overall, *active, layer_areas @ layers, active_layers @ layers, np.log1p(state.cost)]
    varied = np.column_stack([np.broadcast_to(strongest, (len(costs), len(strongest))), coverage.doubt])
    return Phi(shared, np.hstack([varied, varied / costs[:, None]]))
