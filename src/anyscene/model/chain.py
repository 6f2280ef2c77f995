"""A chain of weak learners: a blend of class scores, then small vector-leaf trees, as flat arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

PARENT_BELIEF = -1
"""The source of a column that is the parent's belief rather than a feature set."""


@dataclass(frozen=True)
class Chain:
    """Weak learners in the order in which they were fitted; a bundle is the first p of them.

    The first may be a blend, h(k) = Σ_j weight_j·log s_j(k) + bias_k, where each s_j is a source that speaks
    of classes itself: a rung of the network, or the parent's belief. All others are trees.

    kept : float32[1], the power to which beliefs are raised before the first learner; 1 leaves them as they
    are, 0 makes them anew, as every blend does. Trees that bring new evidence keep less than all: beliefs of
    before are too sure of what other sets said.
    blend_source, blend_weight : int16[J], float32[J]; empty without a blend. blend_bias : float32[C], added
    with the first learner.
    source, column : int16[M], int32[M], where each input of the trees comes from: a feature set's index in
    the pool (or PARENT_BELIEF) and its column there.
    feature, threshold, left : int32[n], float32[n], int32[n], the nodes of all trees: `feature` is an input,
    x <= threshold goes to node `left`, anything else to `left + 1`; left < 0 marks a leaf.
    value : float32[n, C], α·h at the leaves.
    roots : int32[T], the root of each tree; nodes of a tree follow its root.
    """

    kept: NDArray[np.float32]
    blend_source: NDArray[np.int16]
    blend_weight: NDArray[np.float32]
    blend_bias: NDArray[np.float32]
    source: NDArray[np.int16]
    column: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    value: NDArray[np.float32]
    roots: NDArray[np.int32]

    @property
    def has_blend(self) -> bool:
        """Whether the first learner is a blend."""
        return len(self.blend_source) > 0

    @property
    def size(self) -> int:
        """How many weak learners there are."""
        return len(self.roots) + self.has_blend

    def trees_between(self, done: int, size: int) -> NDArray[np.int32]:
        """Roots of the trees among the learners from `done` up to `size`."""
        return self.roots[max(done - self.has_blend, 0) : max(size - self.has_blend, 0)]

    @cached_property
    def source_groups(self) -> tuple[tuple[int, NDArray[np.int64], NDArray[np.int32]], ...]:
        """For each source of the trees: its index, its inputs, and their columns there."""
        groups = []
        for source in np.unique(self.source):
            inputs = np.flatnonzero(self.source == source)
            groups.append((int(source), inputs, self.column[inputs]))
        return tuple(groups)

    def sets_of(self, size: int, set_count: int) -> NDArray[np.bool_]:
        """Which feature sets the first `size` learners look at, bool[set_count]."""
        trees = len(self.trees_between(0, size))
        end = len(self.feature) if trees >= len(self.roots) else int(self.roots[trees])
        used = np.concatenate([self.blend_source, self.source[self.feature[:end][self.left[:end] >= 0]]])
        needed = np.zeros(set_count, np.bool_)
        needed[used[used != PARENT_BELIEF]] = True
        return needed
