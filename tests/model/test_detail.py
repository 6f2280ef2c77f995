"""Detail within leaves: what a map adds to a state, against slow, obvious implementations."""

from dataclasses import replace

import numpy as np
from hypothesis import given

from anyscene.model.actions import split
from anyscene.model.detail import view
from anyscene.model.kernels import SCORE_FLOOR
from tests.worlds import CLASSES, seeds, walk_randomly


def with_map(seed, steps=2):
    """A state, a pool whose second set has a map, and evidence with that map's probabilities."""
    world, model, state = walk_randomly(seed, steps)
    random = np.random.default_rng(seed)
    scores = random.dirichlet(np.ones(CLASSES), world.evidence.tree.count).astype(np.float32)
    evidence = replace(world.evidence, scores={"dear": scores})
    return replace(model.pool, ladder=(1,)), evidence, replace(state, detail=1), scores


def slowly(q, node, leaf, scores):
    ratio = np.maximum(scores[node], SCORE_FLOOR) / np.maximum(scores[leaf], SCORE_FLOOR)
    q = q.astype(float) * ratio
    return q / q.sum()


@given(seeds)
def test_a_state_shows_the_finest_regions_each_by_its_own_score(seed):
    pool, evidence, state, scores = with_map(seed)
    seen, tree = view(state, pool, evidence), evidence.tree
    holder = {int(leaf): row for row, leaf in enumerate(state.leaves)}
    for node in range(int(tree.start[-2])):
        if node in holder:
            for child in tree.child[tree.child_start[node] : tree.child_start[node + 1]]:
                holder[int(child)] = holder[node]
    for node, log_q in zip(seen.nodes, seen.log_belief, strict=True):
        row = holder[int(node)]
        expected = slowly(state.belief[row], node, state.leaves[row], scores)
        np.testing.assert_allclose(np.exp(log_q), expected, rtol=1e-3, atol=2e-5)


@given(seeds)
def test_children_inherit_what_their_parent_believed_just_there(seed):
    pool, evidence, state, _ = with_map(seed)
    before = view(state, pool, evidence)
    after = split(state, 0.0, pool, evidence)
    # Splitting alone changes nothing that is shown.
    seen = view(after, pool, evidence)
    np.testing.assert_allclose(np.exp(seen.log_belief), np.exp(before.log_belief), rtol=2e-2, atol=2e-4)


def test_without_a_map_a_state_shows_its_leaves():
    world, model, state = walk_randomly(0, 2)
    seen = model.view(state, world.evidence)
    assert seen.nodes is state.leaves
    np.testing.assert_array_equal(seen.labels, state.labels)
