"""Probabilities of a network's scores."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anyscene.features.hypercolumn.probabilities import floored_scores, make_probabilities


@given(st.integers(1, 20), st.integers(1, 6), st.integers(0, 3), st.integers(0, 9))
def test_class_scores_become_probabilities_and_the_rest_is_left(rows, classes, extra, seed):
    values = np.random.default_rng(seed).normal(size=(rows, classes + extra)).astype(np.float32) * 30
    expected = np.exp(values[:, :classes] - values[:, :classes].max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    result = values.copy()
    make_probabilities(result[None], classes)
    np.testing.assert_allclose(result[:, :classes], expected, atol=1e-6)
    assert (result[:, classes:] == values[:, classes:]).all()


def test_no_score_counts_as_lower_than_the_floor():
    scores = np.array([[[1.0, 3.0, -20.0, 99.0]]], np.float32)  # the last is no class
    np.testing.assert_array_equal(floored_scores(scores, 3, -9.0), [[[-2.0, 0.0, -9.0]]])
