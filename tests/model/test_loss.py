"""Eq. 3, Eq. 4 and the value with γ against slow, obvious implementations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.model.actions import split
from anyscene.model.loss import (
    confusion,
    labeling_loss,
    pixel_accuracy,
    returns,
    reward,
    truth_from_counts,
)
from tests.worlds import seeds, walk_randomly


@given(seeds, st.integers(0, 6), st.floats(0, 2))
def test_loss_is_cross_entropy_plus_weighted_impurity(seed, steps, alpha):
    world, model, state = walk_randomly(seed, steps)
    labelled = world.counts[0].sum()
    expected = 0.0
    for row, leaf in enumerate(state.leaves):
        w = world.counts[leaf].sum() / labelled
        for k, count in enumerate(world.counts[leaf]):
            p = count / world.counts[leaf].sum()
            expected -= w * p * np.log(state.belief[row, k])
            if p > 0:
                expected -= alpha * w * p * np.log(p)
    assert labeling_loss(model.shown(state, world.evidence), world.truth, alpha) == pytest.approx(
        expected, rel=1e-4
    )


@given(seeds, st.integers(0, 4))
def test_splitting_never_raises_the_loss(seed, steps):
    world, model, state = walk_randomly(seed, steps)
    after = split(state, 0.0, model.pool, world.evidence)
    seen, then = (model.shown(shown, world.evidence) for shown in (state, after))
    for alpha, check in ((0.0, pytest.approx), (1.0, None)):
        before, now = (labeling_loss(shown, world.truth, alpha) for shown in (seen, then))
        assert now == check(before, rel=1e-5) if check else now <= before + 1e-5


@given(seeds, st.integers(0, 6))
def test_accuracy_counts_pixels_of_the_most_likely_class(seed, steps):
    world, model, state = walk_randomly(seed, steps)
    right = sum(world.counts[leaf, np.argmax(q)] for leaf, q in zip(state.leaves, state.belief, strict=True))
    assert pixel_accuracy(model.shown(state, world.evidence), world.truth) == pytest.approx(
        right / world.counts[0].sum(), abs=1e-5
    )


@given(seeds, st.integers(0, 6))
def test_confusion_holds_every_labelled_pixel_by_class_and_label(seed, steps):
    world, model, state = walk_randomly(seed, steps)
    seen = model.shown(state, world.evidence)
    shares = confusion(seen, world.truth)
    np.testing.assert_allclose(shares.sum(axis=1), world.truth.mass[0], atol=1e-5)
    assert np.trace(shares) == pytest.approx(pixel_accuracy(seen, world.truth), abs=1e-5)
    given = np.bincount(seen.labels, world.truth.mass[seen.nodes].sum(axis=1), len(shares))
    np.testing.assert_allclose(shares.sum(axis=0), given, atol=1e-5)


def test_an_image_without_labels_has_no_weight():
    truth = truth_from_counts(np.zeros((5, 3), np.int64))
    assert truth.mass.sum() == 0
    assert truth.impurity.sum() == 0


def test_reward_is_the_drop_per_millisecond():
    assert reward(3.0, 1.0, 4.0) == 0.5
    assert reward(1.0, 3.0, 4.0) == -0.5


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8), st.floats(0, 1))
def test_returns_follow_the_recursion_with_the_positive_part(rewards, gamma):
    def q(t):
        return rewards[t] + gamma * max(q(t + 1), 0.0) if t + 1 < len(rewards) else rewards[t]

    np.testing.assert_allclose(returns(rewards, gamma), [q(t) for t in range(len(rewards))], atol=1e-12)


@given(st.lists(st.floats(0, 5), min_size=1, max_size=8), st.floats(0, 1))
def test_returns_of_gains_are_the_discounted_sum(rewards, gamma):
    value = sum(gamma**t * r for t, r in enumerate(rewards))
    assert returns(rewards, gamma)[0] == pytest.approx(value)
