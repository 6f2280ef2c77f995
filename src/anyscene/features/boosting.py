"""A small boosted classifier: trees whose leaves hold a score for every class, as plain arrays."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.checks import check_array
from anyscene.features.layout_kernels import add_trees
from anyscene.named_arrays import Arrays

DEEPEST = 16
MOST_TREES = 10_000
LARGEST = 1e6
"""Bounds of classifiers from files: the depth of trees, and the size of scores."""

SHRINKAGE = 0.4
"""Share of each tree's Newton step that is taken, so that later trees can correct it."""

SAMPLES_PER_TREE = 12_000
"""Samples that a tree is fitted to, at most; it bounds how long that takes."""

SAMPLES_PER_LEAF = 20
"""Samples that a leaf holds at least, so that no leaf describes a few pixels of one image."""

COLUMNS_PER_SPLIT = 24
"""Columns that a split looks at: as in TextonBoost, a random few of the many filters."""

RAREST = 1e-4
"""Share that every class is taken to have at least, so that logarithms of shares stay finite."""

EVEN_CURVATURE = 0.25
"""Curvature of the cross-entropy at even odds."""


@dataclass(frozen=True, eq=False)
class Booster:
    """An additive classifier; the class scores of a sample are `base` plus one leaf of every tree.

    base: float32[k]. feature, threshold, leaf: complete trees, see `layout_kernels.add_trees`.
    """

    base: NDArray[np.float32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    leaf: NDArray[np.float32]

    def probabilities(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Class probabilities float32[n, k] of values[n, d]."""
        scores = np.tile(self.base, (len(values), 1))
        add_trees(values, self.feature, self.threshold, self.leaf, scores)
        return _softmax(scores)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The classifier as named arrays."""
        return asdict(self)

    @classmethod
    def from_arrays(cls, arrays: Arrays, columns: int) -> Booster:
        """The inverse of `arrays`; others are ignored. columns : how many columns it may look at."""
        base, feature, threshold, leaf = (arrays[part.name] for part in fields(cls))
        check_array("the base of a classifier", base, np.float32, (None,), -LARGEST, LARGEST)
        check_array("the features of a classifier", feature, np.int32, (None, None), 0, columns - 1)
        trees, inner = feature.shape
        if trees > MOST_TREES:
            raise ValueError(f"a classifier has {trees} trees")
        if not len(base) or inner + 1 not in (2**depth for depth in range(1, DEEPEST + 1)):
            raise ValueError(f"a classifier has {len(base)} classes, and trees with {inner} nodes")
        check_array("the thresholds of a classifier", threshold, np.float32, (trees, inner), infinite=True)
        shape = trees, inner + 1, len(base)
        check_array("the leaves of a classifier", leaf, np.float32, shape, -LARGEST, LARGEST)
        return cls(base, feature, threshold, leaf)


def fit_booster(
    values: NDArray[np.float32],
    labels: NDArray[np.integer],
    weights: NDArray[np.float64],
    classes: int,
    trees: int,
    depth: int,
    rng: np.random.Generator,
) -> Booster:
    """Fit a classifier to values[n, d], labels[n] and weights[n] by Newton boosting of the cross-entropy."""
    from sklearn.tree import DecisionTreeRegressor  # slow to import, and needed for learning only

    truth = np.eye(classes)[labels]
    base = np.log(np.maximum(weights @ truth / weights.sum(), RAREST)).astype(np.float32)
    booster = Booster(
        base,
        np.zeros((trees, 2**depth - 1), np.int32),
        np.full((trees, 2**depth - 1), np.inf, np.float32),
        np.zeros((trees, 2**depth, classes), np.float32),
    )
    scores = np.tile(base, (len(values), 1))
    for number in range(trees):
        chosen = rng.permutation(len(values))[:SAMPLES_PER_TREE]
        believed = _softmax(scores[chosen])
        residual = truth[chosen] - believed
        tree = DecisionTreeRegressor(
            max_depth=depth,
            max_features=min(COLUMNS_PER_SPLIT, values.shape[1]),
            min_samples_leaf=SAMPLES_PER_LEAF,
            random_state=int(rng.integers(2**31)),
        )
        leaves = tree.fit(values[chosen], residual, sample_weight=weights[chosen]).apply(values[chosen])
        newton = _newton_leaves(leaves, residual, believed, weights[chosen], tree.tree_.node_count)
        _fill(booster, number, tree.tree_, newton * SHRINKAGE)
        one = slice(number, number + 1)
        add_trees(values, booster.feature[one], booster.threshold[one], booster.leaf[one], scores)
    return booster


def _newton_leaves(
    leaves: NDArray[np.integer],
    residual: NDArray[np.float64],
    believed: NDArray[np.float32],
    weights: NDArray[np.float64],
    nodes: int,
) -> NDArray[np.float64]:
    """Mean residual over mean curvature of each class in each leaf, float64[nodes, k]."""
    slope = np.zeros((nodes, residual.shape[1]))
    curvature = np.zeros_like(slope)
    np.add.at(slope, leaves, residual * weights[:, None])
    np.add.at(curvature, leaves, believed * (1 - believed) * weights[:, None])
    # A prior of one sample at even odds: classes that a leaf hardly holds get small steps.
    step: NDArray[np.float64] = slope / (curvature + EVEN_CURVATURE * weights.mean())
    return step


def _fill(booster: Booster, number: int, tree: Any, leaf: NDArray[np.float64]) -> None:
    """Write one of scikit-learn's trees as a complete tree; a branch that ends early goes left from there."""
    inner = booster.feature.shape[1]
    pending = [(0, 0)]  # node of the tree, node of the complete tree
    while pending:
        node, place = pending.pop()
        if place >= inner:
            booster.leaf[number, place - inner] = leaf[node]
        elif tree.children_left[node] < 0:
            pending.append((node, 2 * place + 1))
        else:
            booster.feature[number, place] = tree.feature[node]
            booster.threshold[number, place] = tree.threshold[node]
            pending += [(tree.children_left[node], 2 * place + 1), (tree.children_right[node], 2 * place + 2)]


def _softmax(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), np.float32)
