"""Our boosting against LightGBM on the same regions and features: a figure of the bench `learning`."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from anyscene.data import DataSet
from anyscene.features import Bank, bank_from_arrays
from anyscene.features.cache import FeatureCache
from anyscene.files import cache_dir
from anyscene.learning.extraction import extract
from anyscene.learning.learners.binning import fit_bins
from anyscene.learning.learners.boosting import BoostingSettings, Rows, boost
from benchmarks.figures import Bar, Figure, missing

PARITY_ROWS = 60_000
"""The most training regions that both are fitted to."""


def parity_with_lightgbm(data: DataSet, split: str) -> Figure:
    """Pixel accuracy on finest regions of our boosting less that of LightGBM, on the same features."""
    name, bar = "weak learners: pixel accuracy less that of LightGBM", Bar("at least", -0.3)
    if why := missing("lightgbm"):
        return Figure(name, bar, None, skipped=why)
    import lightgbm

    bank = bank_from_arrays(("color", "position", "lbp", "hog"), {})
    cache = FeatureCache(cache_dir() / "features")
    x, p, share = _finest_regions(data, "train", bank, cache)
    fresh_x, fresh_p, fresh_share = _finest_regions(data, split, bank, cache)
    random = np.random.default_rng(0)
    chosen = random.permutation(len(x))[:PARITY_ROWS]
    x, p, weight = x[chosen], p[chosen], np.sqrt(share[chosen])
    weight /= weight.mean()
    begun = time.perf_counter()
    bins = fit_bins(x)
    rows = Rows(bins.apply(x), p, _uniform(p), weight)
    fresh = Rows(bins.apply(fresh_x), fresh_p, _uniform(fresh_p), fresh_share)
    settings = BoostingSettings(depth=6, shrinkage=0.2, regularisation=5.0, column_share=0.5)
    for tree in boost(rows, 250, settings, random):
        tree.apply(fresh)
    ours_seconds = time.perf_counter() - begun
    begun = time.perf_counter()
    rival = lightgbm.LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1)
    rival.fit(x, p.argmax(axis=1), sample_weight=weight)
    guess = rival.classes_[rival.predict_proba(fresh_x).argmax(axis=1)]
    rival_seconds = time.perf_counter() - begun

    def accuracy(labels: NDArray[np.intp]) -> float:
        right = fresh_p[np.arange(len(labels)), labels]
        return 100 * float(fresh_share @ right / fresh_share.sum())

    ours, theirs = accuracy(fresh.belief.argmax(axis=1)), accuracy(guess)
    parts = {
        "ours": ours,
        "LightGBM": theirs,
        "our seconds": ours_seconds,
        "LightGBM's seconds": rival_seconds,
    }
    return Figure(name, bar, ours - theirs, "points", parts)


def _finest_regions(
    data: DataSet, split: str, bank: Bank, cache: FeatureCache
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Features, truth and share of the labelled finest regions of a split."""
    x, mass = [], []
    for scene in data.split(split):
        if scene.truth is None:
            continue
        made = extract(scene, bank, len(data.classes), cache)
        finest = made.tree.start[-2]
        x.append(np.hstack([made.features[name][finest:] for name in bank]))
        mass.append(made.truth.mass[finest:])
    masses = np.concatenate(mass)
    share = masses.sum(axis=1)
    labelled = share > 0
    p = masses[labelled] / share[labelled, None]
    return np.concatenate(x)[labelled], p, share[labelled]


def _uniform(p: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.full(p.shape, 1 / p.shape[1], np.float32)
