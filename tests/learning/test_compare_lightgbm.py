"""Our boosting is as accurate as LightGBM's on the same rows (runs in the bench environment)."""

import numpy as np
import pytest

from anyscene.learning.learners.binning import fit_bins
from anyscene.learning.learners.boosting import BoostingSettings, Rows, boost

lightgbm = pytest.importorskip("lightgbm")


def make_rows(random, count, classes=6, width=24):
    """Several clusters a class, seen through a nonlinear mixture of columns."""
    centers = np.random.default_rng(0).normal(size=(classes * 3, 8))
    mixing = np.random.default_rng(1).normal(size=(8, width))
    which = random.integers(0, classes * 3, count)
    z = centers[which] + 0.8 * random.normal(size=(count, 8))
    x = z @ mixing + 0.5 * z**2 @ np.abs(mixing) + random.normal(size=(count, width))
    return x.astype(np.float32), which % classes


def test_accuracy_is_within_0_3_points_of_lightgbm():
    random = np.random.default_rng(2)
    (x, y), (fresh_x, fresh_y) = make_rows(random, 8000), make_rows(random, 8000)
    bins, eye = fit_bins(x), np.eye(6, dtype=np.float32)

    def rows(x, y):
        uniform = np.full((len(x), 6), 1 / 6, np.float32)
        return Rows(bins.apply(x), eye[y], uniform, np.ones(len(x), np.float32))

    fresh = rows(fresh_x, fresh_y)
    settings = BoostingSettings(
        depth=5, shrinkage=0.15, regularisation=2.0, least_curvature=4.0, column_share=0.4
    )
    for tree in boost(rows(x, y), 300, settings, random):
        tree.apply(fresh)
    ours = np.mean(fresh.belief.argmax(axis=1) == fresh_y)
    rival = lightgbm.LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1).fit(x, y)
    assert ours >= np.mean(rival.predict(fresh_x) == fresh_y) - 0.003
