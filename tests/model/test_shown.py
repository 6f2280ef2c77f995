"""Detail within leaves: what a map adds to a state, against slow, obvious implementations."""

from dataclasses import replace

import numpy as np
from hypothesis import given

from anyscene.features.sets import SCORE_FLOOR
from anyscene.model.actions import Update, split, update
from anyscene.model.shown import shown_by
from tests.worlds import CLASSES, SETS, seeds, walk_randomly

WEIGHTS = (0.25, 0.7)


def with_maps(seed, steps=2):
    """A state, a pool whose two sets have maps, and evidence with the maps' probabilities."""
    world, model, state = walk_randomly(seed, steps)
    random = np.random.default_rng(seed)
    count = world.evidence.tree.count
    scores = {name: random.dirichlet(np.ones(CLASSES), count).astype(np.float32) for name in SETS}
    evidence = replace(world.evidence, scores=scores)
    return replace(model.pool, ladder=(0, 1)), evidence, replace(state, detail=np.array(WEIGHTS, np.float32))


def slowly(q, node, leaf, scores):
    q = q.astype(float)
    for weight, name in zip(WEIGHTS, SETS, strict=True):
        ratio = np.maximum(scores[name][node], SCORE_FLOOR) / np.maximum(scores[name][leaf], SCORE_FLOOR)
        q = q * ratio**weight
    return q / q.sum()


@given(seeds)
def test_a_state_shows_the_finest_regions_each_by_its_own_score(seed):
    pool, evidence, state = with_maps(seed)
    seen, tree = shown_by(state, pool, evidence), evidence.tree
    holder = {int(leaf): row for row, leaf in enumerate(state.leaves)}
    for node in range(int(tree.start[-2])):
        if node in holder:
            for child in tree.child[tree.child_start[node] : tree.child_start[node + 1]]:
                holder[int(child)] = holder[node]
    for node, log_q in zip(seen.nodes, seen.log_belief, strict=True):
        row = holder[int(node)]
        expected = slowly(state.belief[row], node, state.leaves[row], evidence.scores)
        np.testing.assert_allclose(np.exp(log_q), expected, rtol=1e-3, atol=2e-5)


@given(seeds)
def test_children_inherit_what_their_parent_believed_just_there(seed):
    pool, evidence, state = with_maps(seed)
    before = shown_by(state, pool, evidence)
    after = split(state, 0.0, pool, evidence)
    # Splitting alone changes nothing that is shown.
    seen = shown_by(after, pool, evidence)
    np.testing.assert_allclose(np.exp(seen.log_belief), np.exp(before.log_belief), rtol=2e-2, atol=2e-4)


def test_a_blend_begins_anew_and_its_maps_show():
    world, model, state = walk_randomly(3, 2)
    scores = np.random.default_rng(0).dirichlet(np.ones(CLASSES), world.evidence.tree.count)
    evidence = replace(world.evidence, scores={"dear": scores.astype(np.float32)})
    bias = np.linspace(-1, 1, CLASSES).astype(np.float32)
    blend = replace(
        model.pool.chains[0],
        blend_source=np.array([1], np.int16),
        blend_weight=np.array([0.6], np.float32),
        blend_bias=bias,
    )
    pool = replace(model.pool, chains=(blend, model.pool.chains[1]), ladder=(1,))
    state = replace(state, active=np.ones(len(state.leaves), np.bool_), applied=np.zeros(2, np.int16))
    after = update(state, Update(0, 1), pool, evidence)
    np.testing.assert_allclose(after.detail, [0, 0.6])
    seen = shown_by(after, pool, evidence)
    expected = np.maximum(scores[seen.nodes], SCORE_FLOOR) ** 0.6 * np.exp(bias)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(seen.log_belief), expected, rtol=1e-2, atol=1e-4)


def test_without_a_map_a_state_shows_its_leaves():
    world, model, state = walk_randomly(0, 2)
    seen = model.shown(state, world.evidence)
    assert seen.nodes is state.leaves
    np.testing.assert_array_equal(seen.labels, state.labels)
