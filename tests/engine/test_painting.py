"""Painting: every pixel gets the value of its leaf, at any size; confidence is a probability."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.engine.evidence import LazyEvidence
from anyscene.model.actions import Pool, split
from anyscene.model.painting import Painter, _repeated, add_leaves, blend_maps, leaf_answers, paint_scores
from anyscene.model.state import initial_state

POOL = Pool((), (), (), 3, 8)


def noise(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def opened(evidence, thresholds, seed=0):
    """A state some splits after the start; leaves differ in entropy, so that layers mix."""
    random = np.random.default_rng(seed)
    state = initial_state(np.full(3, 1 / 3, np.float32), 1, evidence.layer_count, 0)
    for threshold in thresholds:
        state = split(state, threshold, POOL, evidence)
        state.belief[:] = random.dirichlet(np.full(3, 0.5), len(state.leaves))
        state = type(state)(**{name: getattr(state, name) for name in state.__dataclass_fields__})
    return state


def paint_slowly(evidence, leaves, values, size):
    """Look up each pixel's region on each leaf's own layer."""
    tree, nodes = evidence.tree, evidence.nodes(0)
    out = np.zeros(size, values.dtype)
    for y in range(size[0]):
        for x in range(size[1]):
            top = int((y + 0.5) * tree.size[0] / size[0])
            left = int((x + 0.5) * tree.size[1] / size[1])
            for layer in range(tree.depth):
                stride = tree.strides[layer]
                node = nodes.start[layer] + tree.region_map(layer)[top // stride, left // stride]
                if node in leaves:
                    out[y, x] = values[list(leaves).index(node)]
    return out


@pytest.mark.parametrize("size", [(24, 32), (48, 64), (17, 5), (1, 1), (100, 40)])
def test_pixels_get_the_value_of_their_leaf(size):
    evidence = LazyEvidence(noise(24, 32), {})
    state = opened(evidence, (-1.0, 0.5, 0.8))
    values = np.arange(len(state.leaves), dtype=np.int16)
    painted = Painter(evidence.tree, evidence.nodes(0), state.leaves, size)(values)
    np.testing.assert_array_equal(painted, paint_slowly(evidence, state.leaves, values, size))


@given(st.floats(0.3, 3.0), st.integers(0, 100))
def test_confidence_is_the_tempered_chance_of_the_likeliest_class(temperature, seed):
    evidence = LazyEvidence(noise(24, 32), {})
    state = opened(evidence, (-1.0, -1.0), seed)
    top = state.belief.max(axis=1).astype(np.float64)
    odds = (top / (1 - top)) ** (1 / temperature)
    labels, confidence = leaf_answers(state, temperature)
    np.testing.assert_array_equal(labels, state.belief.argmax(axis=1))
    np.testing.assert_allclose(confidence, odds / (1 + odds), rtol=1e-3)


@given(st.integers(0, 50), st.integers(0, 3))
def test_a_map_shows_detail_within_leaves(seed, depth):
    random = np.random.default_rng(seed)
    evidence = LazyEvidence(noise(24, 32), {})
    state = opened(evidence, depth * (-1.0,), seed)
    scores = random.normal(size=(6, 8, 3)).astype(np.float32)
    of_leaf = random.normal(size=(len(state.leaves), 3)).astype(np.float32)
    nodes = evidence.nodes(0)
    shown = add_leaves(scores.copy(), of_leaf, state.leaves, evidence.tree, nodes)
    labels, confidence = paint_scores(shown, 1.0, (6, 8))
    rows = np.arange(len(state.leaves), dtype=np.int32)
    belief = np.exp(scores + of_leaf[Painter(evidence.tree, nodes, state.leaves, (6, 8))(rows)])
    belief /= belief.sum(axis=2, keepdims=True)
    np.testing.assert_array_equal(labels, belief.argmax(axis=2))
    np.testing.assert_allclose(confidence(), belief.max(axis=2), rtol=1e-3)


def test_maps_are_blended_in_the_cells_of_the_finest():
    random = np.random.default_rng(0)
    fine = random.dirichlet(np.ones(4), (6, 8)).astype(np.float32)
    coarse = np.broadcast_to(np.array([0.5, 0.3, 0.1, 0.1], np.float32), (3, 4, 4))
    blended = blend_maps([(0.3, np.log(coarse)), (0.6, np.log(fine))])
    expected = 0.3 * np.log(coarse[0, 0]) + 0.6 * np.log(fine)
    np.testing.assert_allclose(blended, expected, rtol=1e-4, atol=1e-5)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 90), st.integers(1, 90))
def test_enlarged_values_are_those_under_the_centres_of_pixels(height, width, tall, wide):
    values = np.random.default_rng(0).integers(0, 100, (height, width)).astype(np.int16)
    rows = ((np.arange(tall) + 0.5) * height / tall).astype(int)
    columns = ((np.arange(wide) + 0.5) * width / wide).astype(int)
    np.testing.assert_array_equal(_repeated(values, (tall, wide)), values[np.ix_(rows, columns)])
