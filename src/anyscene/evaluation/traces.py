"""`Trace`: one system on one image, what it spent and how well it labeled after every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyscene.metrics import Counts
from anyscene.named_arrays import read_arrays, write_arrays


@dataclass(frozen=True, eq=False)
class Trace:
    """What a system had after each of its K steps; systems that answer once have one step.

    cost : float64[K], milliseconds, never falling. loss : float64[K], the labeling loss (Eq. 3).
    counts : int64[K, C, C + 1], a confusion matrix for each step, see `metrics`.
    actions : int64[K - 1] for anytime systems, whose first step is the prior: the actions taken, or the plans
        if the deadline is known. Empty for other systems.
    grown : int64[K] for anytime systems, the finest layer of the tree that there was. Empty for others.
    """

    cost: NDArray[np.float64]
    loss: NDArray[np.float64]
    counts: Counts
    actions: NDArray[np.int64]
    grown: NDArray[np.int64]

    def last_within(self, budgets: NDArray[np.float64]) -> NDArray[np.int64]:
        """The last step that ends within each budget; the first where none does."""
        return np.maximum(np.searchsorted(self.cost, budgets, side="right") - 1, 0)

    def pixel_accuracy(self) -> NDArray[np.float64]:
        """Share of the known pixels that are right after each step, float64[K]."""
        right = np.trace(self.counts, axis1=1, axis2=2)
        return np.asarray(right / np.maximum(self.counts.sum(axis=(1, 2)), 1))


def join_ends(traces: Sequence[Trace]) -> Trace:
    """One trace of the ends of several that start alike, each better and more expensive than the last."""
    first, ends = slice(0, 1), slice(-1, None)
    pieces = [(traces[0], first), *((trace, ends) for trace in traces)]
    cost, loss, counts, grown = (
        np.concatenate([getattr(trace, part)[at] for trace, at in pieces])
        for part in ("cost", "loss", "counts", "grown")
    )
    return Trace(np.maximum.accumulate(cost), loss, counts, np.arange(len(traces)), grown)


def priced_anew(trace: Trace, costs: NDArray[np.float64]) -> Trace:
    """A trace by deadline with other costs of its plans, float64[K - 1] milliseconds."""
    return replace(trace, cost=np.maximum.accumulate(np.concatenate([trace.cost[:1], costs])))


def charged_upfront(trace: Trace, grow: NDArray[np.float64]) -> Trace:
    """An anytime trace whose costs begin with the whole tree, as in the paper; its decisions stay the same.

    grow : float64[L], the milliseconds that each layer takes to grow.
    """
    later = np.append(np.cumsum(grow[:0:-1])[::-1], 0.0)
    return replace(trace, cost=np.maximum.accumulate(trace.cost + later[trace.grown]))


def count_by_region(truth: NDArray[np.int64], labels: NDArray[np.integer]) -> Counts:
    """The confusion matrix of regions that get one label each.

    truth : int64[N, C], known pixels of each region by class. labels : int[N], the label of each region.
    """
    classes = truth.shape[1]
    given = np.eye(classes + 1, dtype=np.int64)[labels]
    return np.asarray(truth.T @ given, np.int64)


def save_traces(path: Path, traces: Sequence[Trace]) -> None:
    """Write the traces of some images, wholly or not at all."""
    write_arrays(
        path,
        {
            f"{i}/{part.name}": getattr(trace, part.name)
            for i, trace in enumerate(traces)
            for part in fields(Trace)
        },
    )


def load_traces(path: Path) -> list[Trace] | None:
    """The traces that `save_traces` wrote; None when there is no such file, or one that lacks something."""
    try:
        arrays = read_arrays(path) or {}
        names = [part.name for part in fields(Trace)]
        count = len({key.partition("/")[0] for key in arrays})
        return [Trace(**{name: arrays[f"{i}/{name}"] for name in names}) for i in range(count)] or None
    except KeyError:
        return None
