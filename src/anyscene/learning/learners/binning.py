"""Columns cut into at most 64 bins once, so that trees can be fitted on histograms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.learning.learners import grower_kernels
from anyscene.learning.learners.grower_kernels import MAX_BINS

__all__ = ["MAX_BINS", "Bins", "fit_bins"]


@dataclass(frozen=True)
class Bins:
    """Where the columns are cut.

    edges : float32[D, MAX_BINS - 1], ascending, padded with +inf; x is in bin b when
    edges[b - 1] < x <= edges[b], so that `bin <= b` and `x <= edges[b]` say the same.
    """

    edges: NDArray[np.float32]

    def apply(self, x: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Return the bin of every entry, uint8[n, D]."""
        binned: NDArray[np.uint8] = grower_kernels.bin_columns(np.ascontiguousarray(x), self.edges)
        return binned


def fit_bins(x: NDArray[np.float32], max_bins: int = MAX_BINS) -> Bins:
    """Cut each column of a sample of rows at its quantiles, or between values where there are few."""
    edges = np.full((x.shape[1], MAX_BINS - 1), np.inf, np.float32)
    for j, column in enumerate(np.sort(x, axis=0).T):
        values = np.unique(column)
        if len(values) > max_bins:
            ranks = np.linspace(0, len(column) - 1, max_bins + 1)[1:-1].astype(np.int64)
            cuts = np.unique(column[ranks])
        else:
            cuts = (values[:-1] + values[1:]) / 2
            cuts = np.unique(np.where(cuts >= values[1:], values[:-1], cuts))
        edges[j, : len(cuts)] = cuts
    return Bins(edges)


BELIEF_BINS = Bins(np.square(np.arange(1, MAX_BINS) / MAX_BINS)[None].astype(np.float32))
"""Parents' beliefs are cut at fixed places, denser where a class is unlikely."""
