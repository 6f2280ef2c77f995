"""What a state shows: labels, and the probability that each is right."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anyscene.engine.evidence import LazyEvidence
from anyscene.painting.blends import add_leaves
from anyscene.painting.leaves import Painter
from anyscene.painting.show import leaf_answers, paint_scores
from tests.painting.worlds import noise, opened


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
