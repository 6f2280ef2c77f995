"""Region classifiers and their out-of-fold beliefs."""

import numpy as np
import pytest

from anyscene.errors import DataError
from anyscene.evaluation.baselines.classifier import (
    ClassifierSettings,
    RegionClassifier,
    TrainingRows,
    cross_fit,
)

FAST = ClassifierSettings(trees=20, samples=2000)


def make_rows(count: int = 600, folds: int = 3, informative: bool = True) -> TrainingRows:
    random = np.random.default_rng(0)
    label = random.integers(0, 3, count)
    x = random.normal(size=(count, 4)).astype(np.float32)
    if informative:
        x[:, 1] += 2 * label
    counts = random.integers(1, 50, count)[:, None] * np.eye(3, dtype=np.int64)[label]
    return TrainingRows(x, counts, np.arange(count) * folds // count)


def accuracy(belief, rows):
    return (belief.argmax(axis=1) == rows.counts.argmax(axis=1)).mean()


def test_learns_what_can_be_learned():
    rows = make_rows()
    classifier, out_of_fold = cross_fit(rows, FAST, np.random.default_rng(1))
    assert accuracy(classifier.predict(rows.x), rows) > 0.75
    assert accuracy(out_of_fold, rows) > 0.7
    np.testing.assert_allclose(out_of_fold.sum(axis=1), 1, atol=1e-5)


def test_out_of_fold_beliefs_do_not_know_their_own_rows():
    """Labels that are pure chance: whoever seems to know them has seen them."""
    rows = make_rows(informative=False)
    _, out_of_fold = cross_fit(rows, FAST, np.random.default_rng(1))
    assert accuracy(out_of_fold, rows) < 0.45


def test_rows_without_labels_get_beliefs_but_teach_nothing():
    rows = make_rows()
    rows.counts[::5] = 0
    _, belief = cross_fit(rows, FAST, np.random.default_rng(1))
    assert np.isfinite(belief).all()


def test_survives_a_round_trip_through_arrays():
    rows = make_rows()
    classifier, _ = cross_fit(rows, FAST, np.random.default_rng(1))
    again = RegionClassifier.from_arrays(classifier.arrays())
    np.testing.assert_array_equal(again.predict(rows.x), classifier.predict(rows.x))


def test_one_fold_gets_one_clear_sentence():
    with pytest.raises(DataError, match="two folds"):
        cross_fit(make_rows(folds=1), FAST, np.random.default_rng(1))
