"""A chain of weak learners: small vector-leaf trees, flattened to arrays."""

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

    source, column : int16[M], int32[M], where each input comes from: a feature set's index in the pool
    (or PARENT_BELIEF) and its column there.
    feature, threshold, left : int32[n], float32[n], int32[n], the nodes of all trees: `feature` is an input,
    x <= threshold goes to node `left`, anything else to `left + 1`; left < 0 marks a leaf.
    value : float32[n, C], α·h at the leaves.
    roots : int32[T], the root of each tree; nodes of a tree follow its root.
    """

    source: NDArray[np.int16]
    column: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    value: NDArray[np.float32]
    roots: NDArray[np.int32]

    @property
    def size(self) -> int:
        """How many trees there are."""
        return len(self.roots)

    @cached_property
    def source_groups(self) -> tuple[tuple[int, NDArray[np.int64], NDArray[np.int32]], ...]:
        """For each source: its index, its inputs, and their columns there."""
        groups = []
        for source in np.unique(self.source):
            inputs = np.flatnonzero(self.source == source)
            groups.append((int(source), inputs, self.column[inputs]))
        return tuple(groups)

    def sets_of(self, size: int, set_count: int) -> NDArray[np.bool_]:
        """Which feature sets the first `size` trees look at, bool[set_count]."""
        end = len(self.feature) if size >= self.size else int(self.roots[size])
        used = self.source[self.feature[:end][self.left[:end] >= 0]]
        needed = np.zeros(set_count, np.bool_)
        needed[used[used != PARENT_BELIEF]] = True
        return needed
