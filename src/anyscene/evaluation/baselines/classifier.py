"""Classifying regions by their features: boosted vector-leaf trees, and honest beliefs on training rows.

Some columns are class probabilities: what a network, or another classifier, says of a region. They are
blended first, and trees refine the blend; trees alone would need hundreds of steps for as much.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from anyscene.errors import DataError
from anyscene.learning.learners.binning import Bins, fit_bins
from anyscene.learning.learners.blending import Blend, cross_entropy
from anyscene.learning.learners.boosting import BoostingSettings, DecisionTree, Rows, boost, lay_end_to_end
from anyscene.model import kernels
from anyscene.named_arrays import Arrays

CHANCE_FLOOR = np.float32(1e-3)
"""Probabilities below this count as equally unlikely."""

BLENDED_ROWS = 20_000
"""A blend has few parameters, so this many rows are enough to fit it."""

BIAS_RIDGE = 1e-3
"""Keeps the bias of a class that hardly any row holds near zero."""

PRIOR_FLOOR = 1e-4
"""The least prior of a class, so that a class without rows stays possible."""


@dataclass(frozen=True)
class ClassifierSettings:
    """How classifiers are fitted.

    trees : the most trees; there are fewer when the folds that are left out stop improving.
    samples : the most rows that a classifier is fitted to.
    weight_power : a row weighs its pixels to this power.
    patience : how many trees may bring no improvement before growing stops.
    leaf_share : the smallest share of the rows that a leaf may hold. Regions of one image err together, so
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
    """A fitted classifier: a blend of class probabilities, refined by trees that are laid end to end.

    bias : float32[C], the blend's. opinions : int32[K], the first of the C columns of each source of class
    probabilities. trust : float32[K], the weight of each source.
    feature, threshold, left, value, roots : the trees, as in `model.chain.Chain`, on plain columns.
    """

    bias: NDArray[np.float32]
    opinions: NDArray[np.int32]
    trust: NDArray[np.float32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    value: NDArray[np.float32]
    roots: NDArray[np.int32]

    def predict(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Beliefs float32[n, C] of rows float32[n, D]."""
        scores = np.zeros((len(x), len(self.bias)), np.float32)
        kernels.add_tree_scores(
            np.ascontiguousarray(x), self.feature, self.threshold, self.left, self.value, self.roots, scores
        )
        start = _Start(self.opinions, Blend(self.trust, self.bias)).beliefs(x)
        belief: NDArray[np.float32] = kernels.reweigh(start, np.arange(len(x)), scores)
        return belief

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The classifier as named arrays."""
        return asdict(self)

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> RegionClassifier:
        """The inverse of `arrays`."""
        return cls(**{part.name: arrays[part.name] for part in fields(cls)})


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Regions to learn from.

    x : float32[n, D]. counts : int64[n, C], labeled pixels by class; rows without any teach nothing.
    fold : int[n]. opinions : the first of the C columns of each source of class probabilities in x.
    """

    x: NDArray[np.float32]
    counts: NDArray[np.int64]
    fold: NDArray[np.integer]
    opinions: tuple[int, ...] = ()


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
    labeled = rows.counts.sum(axis=1) > 0
    sample = _draw(labeled, settings.samples, random)
    bins = fit_bins(rows.x[sample])
    belief = np.empty(rows.counts.shape, np.float32)
    sizes = []
    for fold in folds:
        inside = rows.fold == fold
        fitted = _draw(labeled & ~inside, settings.samples, random)
        start = _fit_start(rows, fitted, settings)
        left_out = _rows(rows, _draw(labeled & inside, settings.samples // 4, random), bins, start, settings)
        trees = _boost(_rows(rows, fitted, bins, start, settings), settings.trees, settings, random, left_out)
        belief[inside] = _classifier(trees, bins, start).predict(rows.x[inside])
        sizes.append(len(trees))
    start = _fit_start(rows, sample, settings)
    trees = _boost(_rows(rows, sample, bins, start, settings), round(np.mean(sizes)), settings, random)
    return _classifier(trees, bins, start), belief


@dataclass(frozen=True, eq=False)
class _Start:
    """Where trees begin: a blend, and the first column of each of its sources, int32[K]."""

    opinions: NDArray[np.int32]
    blend: Blend

    def beliefs(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Beliefs float32[n, C] of rows float32[n, D]; the same for all rows where nothing is blended."""
        classes = len(self.blend.bias)
        if not len(self.opinions):
            chance = np.exp(self.blend.bias - self.blend.bias.max())
            return np.tile(chance / chance.sum(), (len(x), 1))
        return self.blend.beliefs([np.maximum(x[:, c : c + classes], CHANCE_FLOOR) for c in self.opinions])


def _fit_start(rows: TrainingRows, chosen: NDArray[np.int64], settings: ClassifierSettings) -> _Start:
    """Find the blend of the lowest weighted cross-entropy; without sources the prior is left."""
    chosen = chosen[:: max(1, len(chosen) // BLENDED_ROWS)]
    classes = rows.counts.shape[1]
    truth, weight = _targets(rows.counts[chosen], settings)
    prior = np.maximum(weight @ truth / weight.sum(), PRIOR_FLOOR)
    opinions = np.array(rows.opinions, np.int32)
    sources = len(opinions)
    if not sources:
        return _Start(
            opinions, Blend(np.zeros(0, np.float32), np.log(prior / prior.sum()).astype(np.float32))
        )
    x = rows.x[chosen]
    logs = np.stack([np.log(np.maximum(x[:, c : c + classes], CHANCE_FLOOR)) for c in rows.opinions])
    share = weight / weight.sum()

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        trust, bias = flat[:sources], flat[sources:]
        value, slope = cross_entropy(np.tensordot(trust, logs, 1) + bias, truth, share)
        slopes = np.einsum("knc,nc->k", logs, slope), slope.sum(axis=0) + 2 * BIAS_RIDGE * bias
        return value + BIAS_RIDGE * float((bias**2).sum()), np.concatenate(slopes)

    first = np.concatenate([np.full(sources, 1 / sources), np.zeros(classes)])
    found = minimize(loss, first, jac=True, method="L-BFGS-B").x.astype(np.float32)
    return _Start(opinions, Blend(found[:sources], found[sources:]))


def _draw(mask: NDArray[np.bool_], most: int, random: np.random.Generator) -> NDArray[np.int64]:
    rows = np.flatnonzero(mask)
    return rows if len(rows) <= most else np.sort(random.choice(rows, most, replace=False))


def _rows(
    rows: TrainingRows,
    chosen: NDArray[np.int64],
    bins: Bins,
    start: _Start,
    settings: ClassifierSettings,
) -> Rows:
    truth, weight = _targets(rows.counts[chosen], settings)
    x = rows.x[chosen]
    return Rows(binned=bins.apply(x), truth=truth, belief=start.beliefs(x), weight=weight)


def _targets(
    counts: NDArray[np.int64], settings: ClassifierSettings
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """What rows are fitted to, float32[n, C], and what they weigh, float32[n], one on average."""
    pixels = counts.sum(axis=1, keepdims=True)
    weight = pixels[:, 0].astype(np.float32) ** settings.weight_power
    return (counts / pixels).astype(np.float32), weight / weight.mean()


def _boost(
    rows: Rows,
    trees: int,
    settings: ClassifierSettings,
    random: np.random.Generator,
    left_out: Rows | None = None,
) -> list[DecisionTree]:
    least = settings.leaf_share * len(rows.binned)
    boosting = replace(
        settings.boosting,
        least_curvature=max(settings.boosting.least_curvature, least),
        regularisation=max(settings.boosting.regularisation, least / 2),
    )
    return boost(rows, trees, boosting, random, left_out, settings.patience)


def _classifier(trees: list[DecisionTree], bins: Bins, start: _Start) -> RegionClassifier:
    """Lay trees end to end, with thresholds for plain columns in place of bins."""
    nodes, roots = lay_end_to_end(trees, len(start.blend.bias))
    edges = bins.edges[nodes.feature, np.minimum(nodes.cut, bins.edges.shape[1] - 1)]
    threshold = np.where(nodes.left >= 0, edges, 0)
    return RegionClassifier(
        start.blend.bias,
        start.opinions,
        start.blend.weight,
        nodes.feature,
        threshold.astype(np.float32),
        nodes.left,
        nodes.value,
        roots,
    )
