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
                expected += sum(costs.pooling[s, state.finest + 1] for s in np.flatnonzero(state.in_hand))
        else:
            new = [s for s in np.flatnonzero(model.pool.needs[index]) if not state.in_hand[s]]
            expected += sum(costs.extract[s] + costs.pooling[s, state.finest] for s in new)
            if new and not state.in_hand.any():
                expected += costs.maps[0]
            trees = max(action.size - state.applied[action.chain], 0)
            expected += state.active.sum() * (trees * costs.tree + costs.input)
        assert situation.costs[index] == pytest.approx(expected)
