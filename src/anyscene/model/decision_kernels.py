"""Compiled loops over leaves and actions for choosing the next action, which happens at every step."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def cover(
    layers: NDArray[np.int8],
    area: NDArray[np.float32],
    entropy: NDArray[np.float32],
    active: NDArray[np.bool_],
    thresholds: NDArray[np.float32],
    layer_count: int,
    branching: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return area, doubt and regions, and the finest layer, that updates touch, then splits by threshold.

    float64[1 + thresholds, 3] and int64[1 + thresholds]; see `costs.Coverage`.
    """
    sums = np.zeros((1 + len(thresholds), 3))
    finest = np.zeros(1 + len(thresholds), np.int64)
    for i in range(len(layers)):
        layer = np.int64(layers[i])
        doubt = area[i] * entropy[i]
        if active[i]:
            sums[0, 0] += area[i]
            sums[0, 1] += doubt
            sums[0, 2] += 1
            finest[0] = max(finest[0], layer)
        if layer < layer_count - 1:
            for t in range(len(thresholds)):
                if entropy[i] > thresholds[t]:
                    sums[1 + t, 0] += area[i]
                    sums[1 + t, 1] += doubt
                    sums[1 + t, 2] += branching[layer]
                    finest[1 + t] = max(finest[1 + t], layer + 1)
    return sums, finest


@njit(cache=True, nogil=True)
def evidence_costs(
    needs: NDArray[np.bool_],
    active_layers: NDArray[np.bool_],
    in_hand: NDArray[np.bool_],
    pooling: NDArray[np.float64],
    items: NDArray[np.float64],
    item_start: NDArray[np.int64],
    item: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return what extracting and pooling costs before each action, float64[A].

    item[item_start[p]:item_start[p + 1]] are the items that set s needs on layer k, where p = s * L + k.
    """
    actions, sets = needs.shape
    layer_count = len(active_layers)
    made = np.full(len(items), -1)  # the latest action that the item was paid for; `actions`: in hand
    for s in range(sets):
        for k in range(layer_count):
            if in_hand[s, k]:
                for j in range(item_start[s * layer_count + k], item_start[s * layer_count + k + 1]):
                    made[item[j]] = actions
    costs = np.zeros(actions)
    for a in range(actions):
        for s in range(sets):
            if not needs[a, s]:
                continue
            for k in range(layer_count):
                if not active_layers[k] or in_hand[s, k]:
                    continue
                costs[a] += pooling[s, k]
                for j in range(item_start[s * layer_count + k], item_start[s * layer_count + k + 1]):
                    if made[item[j]] != actions and made[item[j]] != a:
                        made[item[j]] = a
                        costs[a] += items[item[j]]
    return costs


@njit(cache=True, nogil=True)
def leaf_statistics(
    belief: NDArray[np.float32],
    area: NDArray[np.float32],
    entropy: NDArray[np.float32],
    previous_entropy: NDArray[np.float32],
    active: NDArray[np.bool_],
    layers: NDArray[np.int8],
    layer_count: int,
    margin_edges: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return area-weighted sums over leaves, and the areas of layers, of active layers and of margins.

    The sums, float64[6]: entropy, margin between the two likeliest classes, and entropy gap of all leaves;
    area, entropy and entropy gap of the active ones.
    """
    sums = np.zeros(6)
    layer_areas, active_areas = np.zeros(layer_count), np.zeros(layer_count)
    margins = np.zeros(len(margin_edges) + 1)
    for i in range(len(area)):
        first = second = np.float32(0.0)
        for k in range(belief.shape[1]):
            value = belief[i, k]
            if value > first:
                second = first
                first = value
            elif value > second:
                second = value
        margin = first - second
        gap = previous_entropy[i] - entropy[i]
        weight = np.float64(area[i])
        sums[0] += weight * entropy[i]
        sums[1] += weight * margin
        sums[2] += weight * gap
        layer_areas[layers[i]] += weight
        if active[i]:
            sums[3] += weight
            sums[4] += weight * entropy[i]
            sums[5] += weight * gap
            active_areas[layers[i]] += weight
        place = 0
        while place < len(margin_edges) and margin >= margin_edges[place]:
            place += 1
        margins[place] += weight
    return sums, layer_areas, active_areas, margins
