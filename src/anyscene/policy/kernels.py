"""φ in one compiled call (section 5.1)."""

from __future__ import annotations

from math import log1p
from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from numpy.typing import NDArray

if TYPE_CHECKING:
    from anyscene.model.action_costs import Coverage
    from anyscene.model.actions import PoolArrays
    from anyscene.model.state import StateArrays

MARGIN_EDGES = np.array([0.2, 0.4, 0.6, 0.8])
STRONGEST = 8
"""How many of the state features, the first, interact with every action (besides the active layers)."""


@njit(cache=True, nogil=True)
def describe_state(state: StateArrays) -> NDArray[np.float64]:
    """Return what φ says of the state alone, float64[F].

    Three groups, as in the paper: all regions, active regions, layers; and what was spent.
    """
    sets, layer_count = state.in_hand.shape
    margins = len(MARGIN_EDGES) + 1
    phi = np.zeros(STRONGEST + 3 * layer_count + margins + sets + 2)
    active_layers = phi[STRONGEST : STRONGEST + layer_count]
    fresh_layers = phi[STRONGEST + layer_count : STRONGEST + 2 * layer_count]
    layers = phi[STRONGEST + 2 * layer_count : STRONGEST + 3 * layer_count]
    margin_areas = phi[STRONGEST + 3 * layer_count : STRONGEST + 3 * layer_count + margins]
    used = phi[STRONGEST + 3 * layer_count + margins : -2]
    entropy = margin = gap = active_area = active_entropy = active_gap = 0.0
    for i in range(len(state.layers)):
        first = second = np.float32(0.0)
        for k in range(state.belief.shape[1]):
            value = state.belief[i, k]
            if value > first:
                second = first
                first = value
            elif value > second:
                second = value
        own_margin = first - second
        own_gap = state.previous_entropy[i] - state.entropy[i]
        weight = np.float64(state.area[i])
        entropy += weight * state.entropy[i]
        margin += weight * own_margin
        gap += weight * own_gap
        layers[state.layers[i]] += weight
        if state.active[i]:
            active_area += weight
            active_entropy += weight * state.entropy[i]
            active_gap += weight * own_gap
            active_layers[state.layers[i]] += weight
        place = 0
        while place < len(MARGIN_EDGES) and own_margin >= MARGIN_EDGES[place]:
            place += 1
        margin_areas[place] += weight
    applied = 0
    for learners in state.applied:
        applied += learners
    if applied == 0:
        fresh_layers[:] = active_layers
    for s in range(sets):
        used[s] = state.in_hand[s].any()
    active_area = max(active_area, 1e-12)
    phi[0], phi[1], phi[2], phi[3] = 1.0, entropy, margin, active_area
    phi[4], phi[5] = active_entropy / active_area, active_gap / active_area
    phi[6], phi[7] = log1p(applied), log1p(state.cost)
    phi[-2], phi[-1] = gap, 1 / (1 + state.cost)
    return phi


@njit(cache=True, nogil=True)
def describe(
    state: StateArrays, pool: PoolArrays, covered: Coverage, costs: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the parts of `Phi`: float64[F], float64[A, G] and float64[A, K]."""
    of_state = describe_state(state)
    sets, layer_count = state.in_hand.shape
    actions, constants = pool.constants.shape
    of_action = np.zeros((actions, constants + 5 + sets))
    # Every action weighs the strongest state features and the layers of the active leaves, fresh or updated
    # before, for itself: a chain is good on the layers it was fitted to, and where little was applied before
    # it. A reward is a gain divided by the cost, so each comes plain and divided.
    strongest = STRONGEST + 2 * layer_count
    own = np.zeros((actions, 2 * (strongest + 1)))
    is_new = np.zeros(sets, np.bool_)
    for s in range(sets):
        is_new[s] = not state.in_hand[s].any()
    for a in range(actions):
        of_action[a, :constants] = pool.constants[a]
        varying = of_action[a, constants:]
        varying[0] = np.log(costs[a])
        varying[1], varying[2] = covered.area[a], covered.doubt[a]
        varying[3], varying[4] = covered.area[a] / costs[a], covered.doubt[a] / costs[a]
        for s in range(sets):
            varying[5 + s] = pool.needs[a, s] and is_new[s]
        for k in range(strongest):
            own[a, k] = of_state[k]
            own[a, strongest + 1 + k] = of_state[k] / costs[a]
        own[a, strongest] = covered.doubt[a]
        own[a, 2 * strongest + 1] = covered.doubt[a] / costs[a]
    return of_state, of_action, own
