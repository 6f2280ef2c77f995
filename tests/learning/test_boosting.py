"""Binning, the tree grower and boosting against slow, obvious twins and for behaviour."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from anyscene.learning.learners import grower_kernels as kernels
from anyscene.learning.learners.binning import MAX_BINS, fit_bins
from anyscene.learning.learners.boosting import BoostingSettings, Rows, boost, fit_tree

finite = st.floats(-1e6, 1e6, width=32)


@given(hnp.arrays(np.float32, st.tuples(st.integers(1, 40), st.integers(1, 3)), elements=finite))
def test_comparing_bins_is_comparing_values_with_edges(x):
    bins = fit_bins(x, max_bins=8)
    binned = bins.apply(x)
    for cut in range(MAX_BINS - 1):
        np.testing.assert_array_equal(binned <= cut, x <= bins.edges[:, cut])


def test_few_values_get_a_bin_each():
    x = np.repeat([[0.0], [1.0], [5.0]], 10, axis=0).astype(np.float32)
    assert set(fit_bins(x).apply(x)[:, 0]) == {0, 1, 2}


def make_rows(seed, count=400, width=5, classes=3):
    random = np.random.default_rng(seed)
    x = random.normal(size=(count, width)).astype(np.float32)
    label = (x[:, 0] > 0).astype(int) + (x[:, 1] > 0.5)
    truth = np.eye(classes, dtype=np.float32)[label]
    belief = random.dirichlet(np.ones(classes) * 5, count).astype(np.float32)
    weight = random.uniform(0.5, 1.5, count).astype(np.float32)
    return Rows(fit_bins(x).apply(x), truth, belief, weight)


@settings(max_examples=25)
@given(st.integers(0, 1000))
def test_best_cut_is_the_one_a_full_search_finds(seed):
    rows = make_rows(seed, count=60)
    sums = kernels.gradients(rows.truth, rows.belief, rows.weight, np.ones(3, np.float32))
    np.testing.assert_allclose(sums[:, :3], rows.weight[:, None] * (rows.truth - rows.belief), rtol=1e-5)
    histogram = np.empty((5, MAX_BINS, 4), np.float32)
    every = np.arange(60, dtype=np.int32)
    kernels.fill_histogram(rows.binned, every, np.arange(5, dtype=np.int32), sums, histogram)
    gain, column, cut = kernels.best_cut(histogram, 1.0, 0.5)

    def score(mask):
        total = sums[mask].astype(float).sum(axis=0)
        return (total[:3] ** 2).sum() / (total[3] + 1.0)

    def gain_of(column, cut):
        left = rows.binned[:, column] <= cut
        if min(sums[left, 3].sum(), sums[~left, 3].sum()) < 0.5:
            return 0.0
        return score(left) + score(~left) - score(np.ones(60, bool))

    best = max(gain_of(c, b) for c in range(5) for b in range(MAX_BINS - 1))
    assert gain == pytest.approx(best, rel=1e-3, abs=1e-4)
    assert gain_of(column, cut) == pytest.approx(best, rel=1e-3, abs=1e-4)


@settings(max_examples=25)
@given(st.integers(0, 1000))
def test_the_grower_makes_the_tree_that_plain_recursion_makes(seed):
    rows = make_rows(seed, count=200)
    sums = kernels.gradients(rows.truth, rows.belief, rows.weight, np.ones(3, np.float32))
    columns = np.arange(5, dtype=np.int32)
    draws = np.tile(columns, (7, 1))
    feature, cut, left = kernels.grow(
        rows.binned, np.arange(200, dtype=np.int32), columns, draws, sums, 3, 1.0, 0.5
    )

    def check(node, members, depth):
        histogram = np.empty((5, MAX_BINS, 4), np.float32)
        kernels.fill_histogram(rows.binned, members, columns, sums, histogram)
        gain, column, at = kernels.best_cut(histogram, 1.0, 0.5)
        if left[node] < 0:
            assert depth == 3 or gain < 1e-3
            return
        if (column, at) != (feature[node], cut[node]):  # a tie up to rounding
            below = histogram[list(columns).index(feature[node]), : cut[node] + 1].sum(axis=0, dtype=float)
            rest = histogram[0].sum(axis=0, dtype=float) - below
            whole = below + rest
            scores = [(s[:3] ** 2).sum() / (s[3] + 1.0) for s in (below, rest, whole)]
            assert scores[0] + scores[1] - scores[2] == pytest.approx(gain, rel=1e-2, abs=1e-3)
        goes_left = rows.binned[members, feature[node]] <= cut[node]
        check(left[node], members[goes_left], depth + 1)
        check(left[node] + 1, members[~goes_left], depth + 1)

    check(0, np.arange(200, dtype=np.int32), 0)


def test_leaf_values_are_newton_steps_of_a_line_searched_length():
    rows = make_rows(0)
    shape = BoostingSettings(depth=2, shrinkage=1.0, regularisation=2.0)
    tree = fit_tree(rows, shape, np.random.default_rng(3))
    leaf = kernels.leaf_of_rows(rows.binned, tree.feature, tree.cut, tree.left)
    q = rows.belief
    ridge = 2.0 * np.average(q * (1 - q), axis=0, weights=rows.weight)
    steps = np.zeros_like(tree.value)
    for node in np.unique(leaf):
        inside = leaf == node
        w, here = rows.weight[inside, None], q[inside]
        steps[node] = (w * (rows.truth[inside] - here)).sum(axis=0) / (
            (w * here * (1 - here)).sum(axis=0) + ridge
        )
    chosen = steps[leaf]
    mean = (q * chosen).sum(axis=1)
    slope = (rows.weight * (chosen * (rows.truth - q)).sum(axis=1)).sum()
    bend = (rows.weight * ((q * chosen**2).sum(axis=1) - mean**2)).sum()
    leaves = np.unique(leaf)
    expected = steps * min(slope / bend, 2.0)
    np.testing.assert_allclose(tree.value[leaves], expected[leaves], rtol=1e-3, atol=1e-5)


def test_boosting_learns_what_the_features_tell():
    rows, fresh = make_rows(1, count=4000), make_rows(2, count=2000)
    trees = boost(rows, 30, BoostingSettings(), np.random.default_rng(0), fresh)
    assert len(trees) > 5
    assert np.mean(fresh.belief.argmax(axis=1) == fresh.truth.argmax(axis=1)) > 0.97


def test_boosting_stops_at_the_lowest_validation_loss():
    rows, fresh = make_rows(1), make_rows(2)
    noise = np.random.default_rng(0)
    rows.truth[:] = noise.permutation(rows.truth)
    again = make_rows(2)
    trees = boost(rows, 100, BoostingSettings(depth=4), noise, fresh, patience=3)
    assert len(trees) < 20
    for tree in trees:
        tree.apply(again)
    np.testing.assert_allclose(fresh.belief, again.belief, rtol=1e-5)


def test_same_seed_same_trees():
    first, second = (boost(make_rows(1), 3, BoostingSettings(), np.random.default_rng(5)) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.value, other.value)
