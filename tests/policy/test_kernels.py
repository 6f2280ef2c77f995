"""The loops behind every decision against plain numpy twins."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anyscene.model.action_costs import coverage
from anyscene.model.actions import opened_by, reopened_by
from anyscene.policy.kernels import MARGIN_EDGES
from anyscene.policy.phi import describe_state
from tests.worlds import seeds, walk_randomly


@given(seeds, st.integers(0, 6))
def test_coverage_is_what_each_action_touches(seed, steps):
    _, model, state = walk_randomly(seed, steps)
    pool, branching = model.pool, model.costs.branching
    covered = coverage(state, pool, branching)
    for action, threshold in enumerate(pool.thresholds):
        splits = not np.isnan(threshold)
        opened = opened_by(state, threshold, pool.layer_count) if splits else state.active
        touched = opened | reopened_by(state, threshold, pool.layer_count) if splits else opened
        layers = state.layers[opened]
        regions = branching[layers].sum() if splits else len(layers)
        finest = int(layers.max()) + splits if len(layers) else 0
        np.testing.assert_allclose(
            [covered.area[action], covered.doubt[action], covered.regions[action], covered.layer[action]],
            [state.area[touched].sum(), (state.area * state.entropy)[touched].sum(), regions, finest],
            rtol=1e-4,
            atol=1e-6,
        )


@given(seeds, st.integers(0, 6))
def test_state_features_are_sums_over_leaves(seed, steps):
    _, model, state = walk_randomly(seed, steps)
    layer_count = model.pool.layer_count
    area, entropy = state.area.astype(np.float64), state.entropy.astype(np.float64)
    ordered = np.sort(state.belief, axis=1)
    margin = ordered[:, -1] - ordered[:, -2]
    gap = state.previous_entropy - entropy
    shown = area * state.active
    active_layers = np.bincount(state.layers, shown, minlength=layer_count)
    expected = [
        [
            1,
            area @ entropy,
            area @ margin,
            shown.sum(),
            shown @ entropy / shown.sum(),
            shown @ gap / shown.sum(),
        ],
        np.log1p([state.applied.sum(), state.cost]),
        active_layers,
        active_layers * (not state.applied.any()),
        np.bincount(state.layers, area, minlength=layer_count),
        np.bincount(np.digitize(margin, MARGIN_EDGES), area, minlength=len(MARGIN_EDGES) + 1),
        state.in_hand.any(axis=1),
        [area @ gap, 1 / (1 + state.cost)],
    ]
    np.testing.assert_allclose(describe_state(state), np.concatenate(expected), rtol=1e-4, atol=1e-5)
