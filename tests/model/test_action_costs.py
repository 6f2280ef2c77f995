"""Costs of actions against a slow, obvious sum of their parts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.model.actions import Split
from tests.worlds import seeds, walk_randomly


@given(seeds, st.integers(0, 6))
def test_cost_is_the_sum_of_its_parts(seed, steps):
    _, model, state = walk_randomly(seed, steps)
    situation, costs = model.situation(state), model.costs
    for index, action in enumerate(model.pool.actions):
        expected = costs.step
        if isinstance(action, Split):
            opened = [
                layer
                for layer, entropy in zip(state.layers, state.entropy, strict=True)
                if entropy > action.threshold and layer < model.pool.layer_count - 1
            ]
            expected += sum(costs.branching[layer] * costs.region for layer in opened)
            if opened and max(opened) == state.finest:
                expected += costs.grow[state.finest + 1]
        else:
            made = {
                item for s, k in np.argwhere(state.in_hand) for item in np.flatnonzero(costs.requires[s, k])
            }
            for s in np.flatnonzero(model.pool.needs[index]):
                for k in set(state.layers[state.active].tolist()):
                    if not state.in_hand[s, k]:
                        expected += costs.pooling[s, k]
                        for item in set(np.flatnonzero(costs.requires[s, k])) - made:
                            expected += costs.items[item]
                            made.add(item)
            trees = max(action.size - state.applied[action.chain], 0)
            expected += state.active.sum() * (trees * costs.tree + costs.input)
        assert situation.costs[index] == pytest.approx(expected)
