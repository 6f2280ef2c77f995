"""Vector-leaf boosting: small multi-output trees with Newton leaves, fitted on histograms (section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.learning import grower_kernels
from anyscene.learning.binning import MAX_BINS
from anyscene.model.kernels import BELIEF_FLOOR

LARGEST_STEP = 4.0
"""A single tree changes no log-belief by more: where q is sure, curvature says little."""


@dataclass(frozen=True)
class BoostingSettings:
    """How trees are grown.

    least_curvature : smallest Σ w·q(1−q)-like sum on either side of a cut, as rows of mean curvature.
    row_share, column_share : what each tree sees, drawn anew.
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
    fold : int8[n], in 0 … folds − 1.
    """

    binned: NDArray[np.uint8]
    truth: NDArray[np.float32]
    belief: NDArray[np.float32]
    weight: NDArray[np.float32]
    fold: NDArray[np.int8]

    def loss(self) -> float:
        """Weighted mean cross-entropy of the beliefs."""
        terms = -np.einsum("ik,ik->i", self.truth, np.log(self.belief))
        return float(self.weight @ terms / self.weight.sum())


@dataclass(frozen=True)
class Tree:
    """One fitted tree. feature, left : int32[n]. cut : uint8[n]. values : float32[F + 1, n, C].

    `values[f]` leaves out the rows of fold f; the last entry is from all rows. Through the values without its
    own fold a row looks as unsure as a new one, if all rows start from beliefs that no fold had a part in.
    """

    feature: NDArray[np.int32]
    cut: NDArray[np.uint8]
    left: NDArray[np.int32]
    values: NDArray[np.float32]

    def apply(self, belief: NDArray[np.float32], binned: NDArray[np.uint8], fold: NDArray[np.int8]) -> None:
        """Update beliefs in place with the values of each row's fold (-1: from all rows)."""
        leaf = grower_kernels.leaf_of_rows(binned, self.feature, self.cut, self.left)
        which = np.where(fold < 0, len(self.values) - 1, fold).astype(np.int8)
        grower_kernels.add_leaf_values(belief, leaf, which, self.values, BELIEF_FLOOR)


def fit_tree(
    rows: Rows, beliefs: NDArray[np.float32], settings: BoostingSettings, random: np.random.Generator
) -> Tree:
    """Fit one tree to p − q: cuts by Newton gain, leaves by Newton steps, step length by line search, shrunk.

    beliefs : float32[F + 1, n, C], what each model believes so far: model f learns from the rows that are not
    of fold f, the last one from all. They share the tree's shape, which is the last one's, and differ in the
    values of its leaves. With a single model (F = 0) there is nothing to leave out.
    """
    count, width = rows.binned.shape
    every = beliefs[-1]
    chosen = np.flatnonzero(random.random(count) < settings.row_share).astype(np.int32)
    columns = random.permutation(width)[: max(1, round(settings.column_share * width))]
    class_curvature = np.maximum(np.average(every * (1 - every), axis=0, weights=rows.weight), 1e-3)
    class_scale = (1 / np.sqrt(class_curvature)).astype(np.float32)
    sums = grower_kernels.gradients(rows.truth, every, rows.weight, class_scale)
    feature, cut, left = grower_kernels.grow(
        rows.binned,
        chosen,
        np.sort(columns).astype(np.int32),
        sums,
        MAX_BINS,
        settings.depth,
        settings.regularisation,
        settings.least_curvature,
    )
    leaf = grower_kernels.leaf_of_rows(rows.binned, feature, cut, left)
    gradient, curvature = grower_kernels.leaf_sums(
        leaf, rows.fold, rows.truth, beliefs, rows.weight, len(feature)
    )
    steps = gradient / (curvature + settings.regularisation * class_curvature)
    steps = np.clip(steps, -LARGEST_STEP, LARGEST_STEP)
    slope, bend = grower_kernels.step_slopes(leaf, steps[-1], rows.truth, every, rows.weight)
    length = float(np.clip(slope / max(bend, 1e-12), 0.0, 2.0))
    values = (steps * (settings.shrinkage * length)).astype(np.float32)
    return Tree(feature, cut, left, values if len(values) > 1 else np.repeat(values, 2, axis=0))


def boost(
    rows: Rows,
    trees: int,
    folds: int,
    settings: BoostingSettings,
    random: np.random.Generator,
    validation: Rows | None = None,
    patience: int = 5,
) -> list[Tree]:
    """Fit trees one after another, each to what the ones before left over.

    `rows.belief` is updated in place: each row to what the model without its fold believes (with folds = 1
    there is one model, which has seen all). With validation rows (updated in place too, by the model of all
    rows), stops when their loss has not fallen for `patience` trees and returns the trees up to its lowest
    point.
    """
    beliefs = np.repeat(rows.belief[None], folds + 1 if folds > 1 else 1, axis=0)
    fitted: list[Tree] = []
    best, best_size = validation.loss() if validation else np.inf, 0
    for _ in range(trees):
        tree = fit_tree(rows, beliefs, settings, random)
        fitted.append(tree)
        for model, belief in enumerate(beliefs):
            tree.apply(belief, rows.binned, np.full(len(belief), model, np.int8))
        if validation is None:
            continue
        tree.apply(validation.belief, validation.binned, np.full(len(validation.binned), -1, np.int8))
        loss = validation.loss()
        if loss < best:
            best, best_size = loss, len(fitted)
        elif len(fitted) - best_size >= patience:
            break
    rows.belief[:] = beliefs[rows.fold, np.arange(len(rows.fold))] if folds > 1 else beliefs[0]
    return fitted[:best_size] if validation else fitted
