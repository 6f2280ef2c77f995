"""Classifying regions by their features: boosted vector-leaf trees, and honest beliefs on training rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.errors import DataError
from anyscene.learning.binning import Bins, fit_bins
from anyscene.learning.boosting import BoostingSettings, Rows, Tree, boost
from anyscene.model import kernels


@dataclass(frozen=True)
class ClassifierSettings:
    """How classifiers are fitted.

    trees : at most; fewer when folds that are left out stop improving.
    samples : rows that a classifier is fitted to, at most. weight_power : a row weighs its pixels to this
    power.
    leaf_share : smallest part of the rows that a leaf may hold: regions of one image err together, so that
        rows teach less than their number promises.
    """

    trees: int = 150
    samples: int = 60_000
    weight_power: float = 0.5
    patience: int = 10
    leaf_share: float = 0.002
    boosting: BoostingSettings = field(
        default_factory=lambda: BoostingSettings(depth=5, shrinkage=0.2, column_share=0.3)
    )


@dataclass(frozen=True, eq=False)
class RegionClassifier:
    """A fitted classifier: trees laid end to end, as in `model.chain`, on plain columns.

    prior : float32[C]. feature, threshold, left, value, roots : see `model.chain.Chain`.
    """

    prior: NDArray[np.float32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    value: NDArray[np.float32]
    roots: NDArray[np.int32]

    def predict(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Beliefs float32[n, C] of rows float32[n, D]."""
        scores = np.zeros((len(x), len(self.prior)), np.float32)
        kernels.add_tree_scores(
            np.ascontiguousarray(x), self.feature, self.threshold, self.left, self.value, self.roots, scores
        )
        start = np.tile(self.prior, (len(x), 1))
        belief: NDArray[np.float32] = kernels.reweigh(start, np.arange(len(x)), scores)
        return belief

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The classifier as named arrays."""
        return asdict(self)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> RegionClassifier:
        """The inverse of `arrays`."""
        return cls(**{part.name: arrays[part.name] for part in fields(cls)})


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Regions to learn from.

    x : float32[n, D]. counts : int64[n, C], labeled pixels by class; rows without any teach nothing.
    fold : int[n].
    """

    x: NDArray[np.float32]
    counts: NDArray[np.int64]
    fold: NDArray[np.integer]


def cross_fit(
    rows: TrainingRows, settings: ClassifierSettings, random: np.random.Generator
) -> tuple[RegionClassifier, NDArray[np.float32]]:
    """Fit a classifier to all rows, and find what one that never saw a row's fold believes of each row.

    Returns (classifier, beliefs float32[n, C]). Folds that are left out also tell how many trees to grow.
    """
    folds = np.unique(rows.fold)
    if len(folds) < 2:
        raise DataError(
            f"stacking needs training images of two folds or more, found {len(folds)}; split them"
        )
    prior = np.maximum(rows.counts.sum(axis=0) / max(rows.counts.sum(), 1), 1e-4)
    prior = (prior / prior.sum()).astype(np.float32)
    labeled = rows.counts.sum(axis=1) > 0
    sample = _draw(labeled, settings.samples, random)
    bins = fit_bins(rows.x[sample])
    belief = np.empty(rows.counts.shape, np.float32)
    sizes = []
    for fold in folds:
        inside = rows.fold == fold
        fitted, left_out = (
            _rows(rows, _draw(labeled & side, most, random), bins, prior, settings)
            for side, most in ((~inside, settings.samples), (inside, settings.samples // 4))
        )
        trees = _boost(fitted, settings.trees, settings, random, left_out)
        belief[inside] = _classifier(trees, bins, prior).predict(rows.x[inside])
        sizes.append(len(trees))
    every = _rows(rows, sample, bins, prior, settings)
    trees = _boost(every, round(np.mean(sizes)), settings, random)
    return _classifier(trees, bins, prior), belief


def _draw(mask: NDArray[np.bool_], most: int, random: np.random.Generator) -> NDArray[np.int64]:
    rows = np.flatnonzero(mask)
    return rows if len(rows) <= most else np.sort(random.choice(rows, most, replace=False))


def _rows(
    rows: TrainingRows,
    chosen: NDArray[np.int64],
    bins: Bins,
    prior: NDArray[np.float32],
    settings: ClassifierSettings,
) -> Rows:
    counts = rows.counts[chosen]
    pixels = counts.sum(axis=1, keepdims=True)
    weight = pixels[:, 0].astype(np.float32) ** settings.weight_power
    return Rows(
        binned=bins.apply(rows.x[chosen]),
        truth=(counts / pixels).astype(np.float32),
        belief=np.tile(prior, (len(chosen), 1)),
        weight=weight / weight.mean(),
        fold=np.zeros(len(chosen), np.int8),
    )


def _boost(
    rows: Rows,
    trees: int,
    settings: ClassifierSettings,
    random: np.random.Generator,
    left_out: Rows | None = None,
) -> list[Tree]:
    least = settings.leaf_share * len(rows.binned)
    boosting = replace(
        settings.boosting,
        least_curvature=max(settings.boosting.least_curvature, least),
        regularisation=max(settings.boosting.regularisation, least / 2),
    )
    return boost(rows, trees, 1, boosting, random, left_out, settings.patience)


def _classifier(trees: list[Tree], bins: Bins, prior: NDArray[np.float32]) -> RegionClassifier:
    """Lay trees end to end, with thresholds for plain columns in place of bins."""
    sizes = [len(tree.feature) for tree in trees]
    roots = np.cumsum([0, *sizes])[:-1]
    feature = np.concatenate([np.zeros(0, np.int32), *(tree.feature for tree in trees)])
    cut = np.concatenate([np.zeros(0, np.uint8), *(tree.cut for tree in trees)])
    lefts = [np.where(tree.left >= 0, tree.left + root, -1) for tree, root in zip(trees, roots, strict=True)]
    left = np.concatenate([np.zeros(0, np.int32), *lefts]).astype(np.int32)
    threshold = np.where(left >= 0, bins.edges[feature, np.minimum(cut, bins.edges.shape[1] - 1)], 0)
    values = [np.zeros((0, len(prior)), np.float32), *(tree.values[-1] for tree in trees)]
    return RegionClassifier(
        prior,
        feature.astype(np.int32),
        threshold.astype(np.float32),
        left,
        np.ascontiguousarray(np.concatenate(values)),
        roots.astype(np.int32),
    )
