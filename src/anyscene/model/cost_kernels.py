"""Compiled loops over leaves and actions: what actions touch, which change something, what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from numpy.typing import NDArray

if TYPE_CHECKING:
    from anyscene.model.action_costs import CostArrays, Coverage
    from anyscene.model.actions import PoolArrays
    from anyscene.model.state import StateArrays


@njit(cache=True, nogil=True)
def cover(
    state: StateArrays, pool: PoolArrays, branching: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return the parts of `Coverage`: area, entropy times area, regions and finest layer of each action."""
    # One row for all updates, which touch the active leaves, then one for each threshold of splits.
    rows = 1 + len(pool.thresholds)
    area, doubt, regions = np.zeros(rows), np.zeros(rows), np.zeros(rows)
    finest = np.zeros(rows, np.int64)
    last_layer = state.in_hand.shape[1] - 1
    for i in range(len(state.layers)):
        layer = np.int64(state.layers[i])
        own_area, own_entropy = state.area[i], state.entropy[i]
        if state.active[i]:
            area[0] += own_area
            doubt[0] += own_area * own_entropy
            regions[0] += 1
            finest[0] = max(finest[0], layer)
        if layer < last_layer:
            for t in range(len(pool.thresholds)):
                if own_entropy > pool.thresholds[t]:
                    area[1 + t] += own_area
                    doubt[1 + t] += own_area * own_entropy
                    regions[1 + t] += branching[layer]
                    finest[1 + t] = max(finest[1 + t], layer + 1)
        else:
            for t in range(len(pool.thresholds)):
                if own_entropy > pool.thresholds[t]:  # it becomes active again, as its own child
                    area[1 + t] += own_area
                    doubt[1 + t] += own_area * own_entropy
    return area[pool.group], doubt[pool.group], regions[pool.group], finest[pool.group]


@njit(cache=True, nogil=True)
def offered(state: StateArrays, pool: PoolArrays, covered: Coverage) -> NDArray[np.bool_]:
    """Return which actions would change something, bool[A]."""
    changes = np.zeros(len(pool.chain_of), np.bool_)
    for a in range(len(changes)):
        chain = pool.chain_of[a]
        if chain < 0:
            opens = covered.layer[a] > 0
            changes[a] = opens or activates_others(state, pool.thresholds[pool.group[a] - 1])
        else:
            changes[a] = pool.size_of[a] > state.applied[chain] and covered.regions[a] > 0
    return changes


@njit(cache=True, nogil=True)
def activates_others(state: StateArrays, threshold: float) -> bool:
    """Tell whether a split that opens no leaf makes other leaves of the finest layer active than now."""
    last_layer = state.in_hand.shape[1] - 1
    some, others = False, False
    for i in range(len(state.layers)):
        doubtful = state.layers[i] == last_layer and state.entropy[i] > threshold
        some |= doubtful
        others |= doubtful != state.active[i]
    return some and others


@njit(cache=True, nogil=True)
def action_costs(
    state: StateArrays, pool: PoolArrays, costs: CostArrays, covered: Coverage
) -> NDArray[np.float64]:
    """Return the milliseconds of every action, offered or not, float64[A]."""
    spent: NDArray[np.float64] = evidence_costs(state, pool, costs)
    for a in range(len(spent)):
        chain, layer, regions = pool.chain_of[a], covered.layer[a], covered.regions[a]
        spent[a] += costs.step
        if chain >= 0:
            learners = max(pool.size_of[a] - state.applied[chain], 0)
            spent[a] += regions * (learners * costs.tree + costs.input)
        else:
            spent[a] += regions * costs.region
            if layer > state.finest:
                spent[a] += costs.grow[layer]
            for s in state.maps:
                if not state.in_hand[s, layer]:
                    spent[a] += costs.pooling[s, layer]
    return spent


@njit(cache=True, nogil=True)
def evidence_costs(state: StateArrays, pool: PoolArrays, costs: CostArrays) -> NDArray[np.float64]:
    """Return what extracting and pooling costs before each action, float64[A].

    costs.item[item_start[p]:item_start[p + 1]] are the items that set s needs on layer k, p = s * L + k.
    """
    actions, sets = pool.needs.shape
    layer_count = state.in_hand.shape[1]
    active_layers = np.zeros(layer_count, np.bool_)
    for i in range(len(state.layers)):
        if state.active[i]:
            active_layers[state.layers[i]] = True
    made = np.full(len(costs.items), -1)  # the latest action that the item was paid for; `actions`: in hand
    for s in range(sets):
        for k in range(layer_count):
            if state.in_hand[s, k]:
                pair = s * layer_count + k
                for j in range(costs.item_start[pair], costs.item_start[pair + 1]):
                    made[costs.item[j]] = actions
    spent = np.zeros(actions)
    for a in range(actions):
        for s in range(sets):
            if not pool.needs[a, s]:
                continue
            for k in range(layer_count):
                if not active_layers[k] or state.in_hand[s, k]:
                    continue
                spent[a] += costs.pooling[s, k]
                pair = s * layer_count + k
                for j in range(costs.item_start[pair], costs.item_start[pair + 1]):
                    item = costs.item[j]
                    if made[item] != actions and made[item] != a:
                        made[item] = a
                        spent[a] += costs.items[item]
    return spent
