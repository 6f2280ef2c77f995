"""The learned policy's choice in one compiled call."""

from __future__ import annotations

from math import log, log1p

import numpy as np
from numba import njit

from anyscene.model.decision_kernels import cover, evidence_costs, leaf_statistics
from anyscene.model.phi import MARGIN_EDGES, STRONGEST
from anyscene.model.policies import ALWAYS


@njit(cache=True, nogil=True)
def rank(  # type: ignore[no-untyped-def]
    layers, area, belief, entropy, previous_entropy, active, in_hand, applied, maps, finest, cost,
    needs, chain_of, size_of, thresholds, group, constants,
    step, region, tree, read, grow, branching, pooling, items, item_start, item,
    local_step, local_region, local_tree, local_read, local_grow, local_pooling, local_items,
    local_item_start, local_item,
    state_weights, action_weights, own_weights, upcoming, loyalty, share, most_update, most_split,
):  # fmt: skip
    """Return the policy's choice among what fits (-1: none), Q̂, cost, time here, and whether guided.

    The same as `Model.situation`, `phi.describe` and `LearnedPolicy.choose`, without their intermediate
    arrays. Names without `local_` are parts of the model's ActionCosts, those with it of this machine's.
    upcoming : what is left of the policy's guide.
    """
    layer_count = len(grow)
    covered, covered_layer = cover(layers, area, entropy, active, thresholds, layer_count, branching)
    sums, layer_areas, active_areas, margins = leaf_statistics(
        belief, area, entropy, previous_entropy, active, layers, layer_count, MARGIN_EDGES
    )
    active_layers = np.zeros(layer_count, np.bool_)
    for i in range(len(layers)):
        if active[i]:
            active_layers[layers[i]] = True
    evidence = evidence_costs(needs, active_layers, in_hand, pooling, items, item_start, item)
    local_evidence = evidence_costs(
        needs, active_layers, in_hand, local_pooling, local_items, local_item_start, local_item
    )
    total_applied = 0
    for value in applied:
        total_applied += value
    sets = needs.shape[1]
    used = np.zeros(sets, np.bool_)
    for s in range(sets):
        used[s] = in_hand[s].any()

    # φ's state part, in the order of `phi.describe_state`.
    active_area = max(sums[3], 1e-12)
    strong = STRONGEST + 2 * layer_count
    head = np.zeros(strong)
    head[0], head[1], head[2], head[3] = 1.0, sums[0], sums[1], active_area
    head[4], head[5] = sums[4] / active_area, sums[5] / active_area
    head[6], head[7] = log1p(total_applied), log1p(cost)
    head[STRONGEST : STRONGEST + layer_count] = active_areas
    if total_applied == 0:
        head[STRONGEST + layer_count :] = active_areas
    common = 0.0
    for k in range(strong):
        common += head[k] * state_weights[k]
    at = strong
    for k in range(layer_count):
        common += layer_areas[k] * state_weights[at + k]
    at += layer_count
    for k in range(len(margins)):
        common += margins[k] * state_weights[at + k]
    at += len(margins)
    for s in range(sets):
        if used[s]:
            common += state_weights[at + s]
    at += sets
    common += sums[2] * state_weights[at] + state_weights[at + 1] / (1 + cost)

    best = -1
    values = np.full(len(chain_of), -np.inf)
    prices = np.zeros(len(chain_of))
    times = np.zeros(len(chain_of))
    for a in range(len(chain_of)):
        g = group[a]
        regions, layer = covered[g, 2], covered_layer[g]
        if chain_of[a] < 0:
            if layer == 0:  # nothing would be opened
                continue
            price = step + regions * region
            here = local_step + regions * local_region
            if layer > finest:
                price += grow[layer]
                here += local_grow[layer]
            for s in maps:
                if not in_hand[s, layer]:
                    price += pooling[s, layer]
                    here += local_pooling[s, layer]
        else:
            missing = size_of[a] - applied[chain_of[a]]
            if missing <= 0 or regions == 0:
                continue
            price = step + evidence[a] + regions * (missing * tree + read)
            here = local_step + local_evidence[a] + regions * (missing * local_tree + local_read)
        here *= share
        if here > (most_split if chain_of[a] < 0 else most_update):
            continue
        q = common
        for k in range(3):
            q += constants[a, k] * action_weights[k]
        q += log(price) * action_weights[3]
        q += covered[g, 0] * (action_weights[4] + action_weights[6] / price)
        q += covered[g, 1] * (action_weights[5] + action_weights[7] / price)
        for s in range(sets):
            if needs[a, s] and not used[s]:
                q += action_weights[8 + s]
        plain = divided = 0.0
        for k in range(strong):
            plain += head[k] * own_weights[a, k]
            divided += head[k] * own_weights[a, strong + 1 + k]
        plain += covered[g, 1] * own_weights[a, strong]
        divided += covered[g, 1] * own_weights[a, 2 * strong + 1]
        q += plain + divided / price
        values[a], prices[a], times[a] = q, price, here
        if best < 0 or q > values[best]:
            best = a
    guided = False
    for a in upcoming:
        if values[a] > -np.inf:
            guided = True
            if loyalty >= ALWAYS or values[best] - values[a] <= loyalty * abs(values[best]):
                best = a
            break
    if best < 0:
        return -1, -np.inf, 0.0, 0.0, guided
    return best, values[best], prices[best], times[best], guided
