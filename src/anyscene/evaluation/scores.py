"""Scores over a data set as functions of cost: step curves from the traces of all images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anyscene import metrics
from anyscene.evaluation.traces import Trace
from anyscene.metrics import Counts

Floats = NDArray[np.float64]

POINTS = 400
"""The budgets of the common grid. Over three decades of cost each is under two percent above the last."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A step function of cost: point k holds from cost[k] up to the next.

    cost : float64[K], rising. counts : int64[K, C, C + 1], confusion matrices pooled over images.
    loss : float64[K], the mean over images.
    """

    cost: Floats
    counts: Counts
    loss: Floats

    @cached_property
    def pixel(self) -> Floats:
        """Pixel accuracy of each point."""
        return np.array([metrics.pixel_accuracy(counts) for counts in self.counts])

    @cached_property
    def class_mean(self) -> Floats:
        """Class accuracy of each point."""
        return np.array([metrics.class_accuracy(counts) for counts in self.counts])

    @cached_property
    def iou(self) -> Floats:
        """Mean IoU of each point."""
        return np.array([metrics.mean_iou(counts) for counts in self.counts])


@dataclass(frozen=True, eq=False)
class Scores:
    """One system on a data set.

    anytime : the curve follows one run on each image; otherwise each point is a way of labeling by itself.
    cost_ms : the mean cost of an image when the system goes all the way.
    final : the scores then, a curve of one point.
    """

    name: str
    anytime: bool
    curve: Curve
    cost_ms: float
    final: Curve


def budget_grid(runs: Sequence[Sequence[Trace]], points: int = POINTS) -> Floats:
    """Budgets even in log cost, from where every image has a first label to the largest cost of any run."""
    first = max(trace.cost[0] for traces in runs for trace in traces)
    full = max(trace.cost[-1] for traces in runs for trace in traces)
    return np.geomspace(first, max(full, first * 1.001), points)


def anytime_scores(name: str, traces: Sequence[Trace], budgets: Floats) -> Scores:
    """Pool what every image has within each budget, up to the budget that changes nothing any more."""
    full = max(trace.cost[-1] for trace in traces)
    budgets = budgets[: int(np.searchsorted(budgets, full)) + 1]
    steps = [trace.last_within(budgets) for trace in traces]
    counts = sum(trace.counts[step] for trace, step in zip(traces, steps, strict=True))
    loss = np.mean([trace.loss[step] for trace, step in zip(traces, steps, strict=True)], axis=0)
    curve = Curve(budgets, np.asarray(counts), loss)
    cost = float(np.mean([trace.cost[-1] for trace in traces]))
    return Scores(name, True, curve, cost, _last_steps(traces))


def fixed_scores(name: str, traces: Sequence[Trace]) -> Scores:
    """The mean cost and the pooled scores of every step, for systems with the same steps on every image."""
    curve = Curve(
        np.mean([trace.cost for trace in traces], axis=0),
        np.sum([trace.counts for trace in traces], axis=0),
        np.mean([trace.loss for trace in traces], axis=0),
    )
    return Scores(name, False, curve, float(curve.cost[-1]), _last_steps(traces))


def step_values(cost: Floats, values: Floats, budgets: Floats) -> Floats:
    """A step function at some budgets; NaN below its first point."""
    last = np.searchsorted(cost, budgets, side="right") - 1
    return np.where(last >= 0, values[np.maximum(last, 0)], np.nan)


def first_cost(cost: Floats, values: Floats, wanted: float) -> float | None:
    """The lowest cost at which a step function reaches a value; None if it never does."""
    reached = np.flatnonzero(values >= wanted - 1e-9)  # rounding must not decide
    return float(cost[reached[0]]) if len(reached) else None


def point_at(curve: Curve, budget: float) -> Curve | None:
    """The point of a curve within a budget, as a curve of one point; None below the first."""
    last = int(np.searchsorted(curve.cost, budget, side="right")) - 1
    if last < 0:
        return None
    here = slice(last, last + 1)
    return Curve(curve.cost[here], curve.counts[here], curve.loss[here])


def _last_steps(traces: Sequence[Trace]) -> Curve:
    return Curve(
        np.array([np.mean([trace.cost[-1] for trace in traces])]),
        np.sum([trace.counts[-1:] for trace in traces], axis=0),
        np.array([np.mean([trace.loss[-1] for trace in traces])]),
    )
