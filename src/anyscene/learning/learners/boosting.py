"""Vector-leaf boosting: small multi-output trees with Newton leaves, fitted on histograms (section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.learning.learners import grower_kernels
from anyscene.model.kernels import BELIEF_FLOOR

LARGEST_STEP = 4.0
"""A single tree changes no log-belief by more: where q is sure, curvature says little."""


FEWEST_COLUMNS = 4
"""A cut chooses from at least so many columns: a tenth of a small set would leave it hardly a choice."""


@dataclass(frozen=True)
class BoostingSettings:
    """How trees are grown.

    least_curvature : smallest Σ w·q(1−q)-like sum on either side of a cut, as rows of mean curvature.
    row_share : the share of the rows that each tree sees. column_share : the share of the columns that each
    cut chooses from. Both are drawn anew every time.
    """

    depth: int = 4
    shrinkage: float = 0.3
    regularisation: float = 5.0
    least_curvature: float = 10.0
    row_share: float = 0.7
    column_share: float = 0.7


@dataclass(frozen=True)
class Rows:
    """What trees are fitted to, one row a region.

    binned : uint8[n, D]. truth, belief : float32[n, C]. weight : float32[n], mean 1.
    """

    binned: NDArray[np.uint8]
    truth: NDArray[np.float32]
    belief: NDArray[np.float32]
    weight: NDArray[np.float32]

    def loss(self) -> float:
        """Weighted mean cross-entropy of the beliefs."""
        terms = -np.einsum("ik,ik->i", self.truth, np.log(self.belief))
        return float(self.weight @ terms / self.weight.sum())


@dataclass(frozen=True)
class DecisionTree:
    """One fitted tree. feature, left : int32[n]. cut : uint8[n]. value : float32[n, C]."""

    feature: NDArray[np.int32]
    cut: NDArray[np.uint8]
    left: NDArray[np.int32]
    value: NDArray[np.float32]

    def apply(self, rows: Rows) -> None:
        """Update the rows' beliefs in place."""
        leaf = grower_kernels.leaf_of_rows(rows.binned, self.feature, self.cut, self.left)
        grower_kernels.add_leaf_values(rows.belief, leaf, self.value, BELIEF_FLOOR)


@dataclass(frozen=True)
class Columns:
    """The columns that trees may look at, int32 each. first : those that a tree's first cut is made in."""

    all: NDArray[np.int32]
    first: NDArray[np.int32]


def fit_tree(
    rows: Rows, settings: BoostingSettings, random: np.random.Generator, columns: Columns | None = None
) -> DecisionTree:
    """Fit one tree to p − q: cuts by Newton gain, leaves by Newton steps, step length by line search."""
    count, width = rows.binned.shape
    if columns is None:
        columns = Columns(every := np.arange(width, dtype=np.int32), every)
    chosen = np.flatnonzero(random.random(count) < settings.row_share).astype(np.int32)
    draws = _draw_columns(columns.all, 2**settings.depth - 1, settings.column_share, random)
    # Where a set must be used, the first cut sees as large a share of it.
    (root,) = _draw_columns(columns.first, 1, settings.column_share, random)
    curvature_of = rows.weight @ (rows.belief * (1 - rows.belief)) / rows.weight.sum()
    class_curvature = np.maximum(curvature_of, 1e-3)
    class_scale = (1 / np.sqrt(class_curvature)).astype(np.float32)
    sums = grower_kernels.gradients(rows.truth, rows.belief, rows.weight, class_scale)
    feature, cut, left = grower_kernels.grow(
        rows.binned,
        chosen,
        root,
        draws,
        sums,
        settings.depth,
        settings.regularisation,
        settings.least_curvature,
    )
    leaf = grower_kernels.leaf_of_rows(rows.binned, feature, cut, left)
    gradient, curvature = grower_kernels.leaf_sums(leaf, rows.truth, rows.belief, rows.weight, len(feature))
    steps = gradient / (curvature + settings.regularisation * class_curvature)
    steps = np.clip(steps, -LARGEST_STEP, LARGEST_STEP)
    slope, bend = grower_kernels.step_slopes(leaf, steps, rows.truth, rows.belief, rows.weight)
    length = float(np.clip(slope / max(bend, 1e-12), 0.0, 2.0))
    return DecisionTree(feature, cut, left, (steps * (settings.shrinkage * length)).astype(np.float32))


def _draw_columns(
    columns: NDArray[np.int32], times: int, share: float, random: np.random.Generator
) -> NDArray[np.int32]:
    """Draw a share of the columns so many times, int32[times, m]; a few at least."""
    size = min(len(columns), max(FEWEST_COLUMNS, round(share * len(columns))))
    order = np.argsort(random.random((times, len(columns))), axis=1)[:, :size]
    return np.asarray(columns[np.sort(order, axis=1)])


def boost(
    rows: Rows,
    trees: int,
    settings: BoostingSettings,
    random: np.random.Generator,
    validation: Rows | None = None,
    patience: int = 5,
    columns: Columns | None = None,
) -> list[DecisionTree]:
    """Fit trees one after another, each to what the ones before left over; `rows.belief` changes in place.

    With validation rows it stops when their loss has not fallen for `patience` trees, and returns the trees
    up to its lowest point; their beliefs are changed in place to those there.
    """
    fitted: list[DecisionTree] = []
    best, best_size = validation.loss() if validation else np.inf, 0
    best_belief = validation.belief.copy() if validation else None
    for _ in range(trees):
        tree = fit_tree(rows, settings, random, columns)
        fitted.append(tree)
        tree.apply(rows)
        if validation is None:
            continue
        tree.apply(validation)
        loss = validation.loss()
        if loss < best:
            best, best_size, best_belief = loss, len(fitted), validation.belief.copy()
        elif len(fitted) - best_size >= patience:
            break
    if validation is None:
        return fitted
    validation.belief[:] = best_belief
    return fitted[:best_size]


def lay_end_to_end(trees: Sequence[DecisionTree], classes: int) -> tuple[DecisionTree, NDArray[np.int32]]:
    """Return the nodes of all trees as if they were one, one tree after the other, and each tree's root."""
    sizes = np.array([len(tree.feature) for tree in trees], np.int64)
    roots = np.cumsum(sizes) - sizes
    none = np.zeros(0, np.int32)
    no_tree = DecisionTree(none, none.astype(np.uint8), none, np.zeros((0, classes), np.float32))
    feature, cut, left, value = (
        np.concatenate([getattr(tree, part) for tree in (no_tree, *trees)])
        for part in ("feature", "cut", "left", "value")
    )
    left = np.where(left >= 0, left + np.repeat(roots, sizes), -1).astype(np.int32)
    return DecisionTree(feature, cut, left, value), roots.astype(np.int32)
