"""Splits and updates against slow, obvious implementations of Eq. 1 and Eq. 2."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.model import kernels
from anyscene.model.action_costs import coverage, offered
from anyscene.model.actions import Split, Update, split, update
from anyscene.model.chain import PARENT_BELIEF
from tests.worlds import SETS, seeds, walk_randomly


def slow_entropy(q):
    return -sum(x * np.log(x) for x in q)


@given(seeds, st.integers(0, 6), st.sampled_from([0.0, 0.3, 0.6, 1.0]))
def test_split_opens_uncertain_leaves_and_children_inherit(seed, steps, threshold):
    world, model, state = walk_randomly(seed, steps)
    tree = world.evidence.tree
    expected = {}
    for leaf, q, parent_q in zip(state.leaves, state.belief, state.parent_belief, strict=True):
        children = tree.child[tree.child_start[leaf] : tree.child_start[leaf + 1]]
        if slow_entropy(q.astype(float)) > threshold + 1e-6:
            # A leaf of the finest layer has no children and stands for its own.
            own = children if len(children) else [leaf]
            expected.update({int(child): (q, q, True) for child in own})
        else:
            expected[int(leaf)] = (q, parent_q, False)
    after = split(state, threshold, model.pool, world.evidence)
    assert sorted(after.leaves) == sorted(expected)
    for row, leaf in enumerate(after.leaves):
        belief, parent_belief, active = expected[int(leaf)]
        np.testing.assert_array_equal(after.belief[row], belief)
        np.testing.assert_array_equal(after.parent_belief[row], parent_belief)
        assert after.active[row] == active


@given(seeds, st.integers(0, 6), st.integers(0, 1), st.sampled_from([1, 5]))
def test_update_multiplies_active_beliefs_by_exp_of_the_learners(seed, steps, which, size):
    world, model, state = walk_randomly(seed, steps)
    chain = model.pool.chains[which]
    after = update(state, Update(which, size), model.pool, world.evidence)
    done = int(state.applied[which])
    for row, leaf in enumerate(state.leaves):
        q = state.belief[row].astype(float)
        if state.active[row]:
            if done == 0:
                q = q**chain.kept * np.exp(chain.blend_bias)
            if chain.has_blend and done == 0:
                parent = np.maximum(state.parent_belief[row], kernels.SCORE_FLOOR)
                q = q * parent ** chain.blend_weight[0]
            for root in chain.trees_between(done, size):
                node = root
                while chain.left[node] >= 0:
                    source, column = chain.source[chain.feature[node]], chain.column[chain.feature[node]]
                    if source == PARENT_BELIEF:
                        x = state.parent_belief[row, column]
                    else:
                        x = world.evidence.features[SETS[source]][leaf, column]
                    node = chain.left[node] + (0 if x <= chain.threshold[node] else 1)
                q = q * np.exp(chain.value[node])
            q = np.maximum(q / q.sum(), kernels.BELIEF_FLOOR)
            q = q / q.sum()
        np.testing.assert_allclose(after.belief[row], q, rtol=2e-4)


@given(seeds, st.integers(0, 8))
def test_leaves_always_tile_the_image_and_beliefs_stay_distributions(seed, steps):
    world, _, state = walk_randomly(seed, steps)
    assert state.area.sum() == pytest.approx(1, abs=1e-5)
    assert world.truth.mass[state.leaves].sum() == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(state.belief.sum(axis=1), 1, rtol=1e-5)
    assert state.belief.min() >= kernels.BELIEF_FLOOR / 2
    np.testing.assert_array_equal(world.evidence.tree.layer[state.leaves], state.layers)


@given(seeds, st.integers(0, 8))
def test_offered_actions_are_exactly_those_that_change_something(seed, steps):
    world, model, state = walk_randomly(seed, steps)
    covered = coverage(state, model.pool, model.costs.branching)
    for action, is_offered in zip(model.pool.actions, offered(state, model.pool, covered), strict=True):
        if isinstance(action, Split):
            after = split(state, action.threshold, model.pool, world.evidence)
            # An only child changes the leaf's layer though not the count.
            opens = not np.array_equal(after.leaves, state.leaves)
            reopens = after.active.any() and not np.array_equal(after.active, state.active)
            changes = opens or reopens
        else:
            changes = state.active.any() and state.applied[action.chain] < action.size
        assert is_offered == changes


@given(seeds)
def test_transitions_leave_the_state_they_start_from_untouched(seed):
    world, model, state = walk_randomly(seed, 2)
    copies = {name: np.copy(value) for name, value in vars(state).items()}
    split(state, 0.0, model.pool, world.evidence)
    update(state, Update(0, 5), model.pool, world.evidence)
    for name, copy in copies.items():
        np.testing.assert_array_equal(getattr(state, name), copy)


@given(seeds)
def test_nested_bundles_add_up(seed):
    world, model, state = walk_randomly(seed, 0)
    state = split(state, 0.0, model.pool, world.evidence)
    small_then_large = update(
        update(state, Update(0, 1), model.pool, world.evidence), Update(0, 5), model.pool, world.evidence
    )
    at_once = update(state, Update(0, 5), model.pool, world.evidence)
    np.testing.assert_allclose(small_then_large.belief, at_once.belief, rtol=1e-3, atol=1e-5)
