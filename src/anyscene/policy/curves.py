"""Anytime curves: mean accuracy over images at any budget, and the area under them over log cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anyscene.policy.rollout import Trajectory

NEARLY = 0.001
"""An accuracy this far below the best counts as equal to it."""


def accuracy_at(trajectory: Trajectory, budgets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Accuracy of the last labeling complete within each budget (the prior's, if none is)."""
    last = np.searchsorted(trajectory.cost, budgets, side="right") - 1
    return trajectory.accuracy[np.maximum(last, 0)]


def mean_curve(trajectories: Sequence[Trajectory], budgets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean accuracy over images at each budget."""
    return np.asarray(np.mean([accuracy_at(run, budgets) for run in trajectories], axis=0))


def budget_grid(runs: Sequence[Sequence[Trajectory]], points: int = 256) -> NDArray[np.float64]:
    """Budgets spaced evenly in log cost, from the first label of any run to the fullest cost of any."""
    first = min(trajectory.cost[1] for run in runs for trajectory in run if len(trajectory.actions))
    full = max(trajectory.cost[-1] for run in runs for trajectory in run)
    return np.geomspace(first, max(full, first), points)


def cost_to_reach(curve: NDArray[np.float64], budgets: NDArray[np.float64], accuracy: float) -> float:
    """The smallest budget at which a curve reaches an accuracy; inf if none does."""
    place = _first(curve >= accuracy)
    return float(budgets[place]) if place < len(budgets) else float("inf")


def score_against(
    curve: NDArray[np.float64], static: NDArray[np.float64], shortfall: float, sooner: float
) -> float:
    """Area under a curve over log-spaced budgets, set against the static sequence's curve.

    shortfall : the weight of how far the curve ever falls behind the static one, and behind what it had at a
    smaller budget.
    sooner : the weight of how much sooner it reaches the static curve's best, less `NEARLY`, as a share of
    the range of log budgets.
    """
    behind_static = max(float(np.max(static - curve)), 0.0)
    wanted = static.max() - NEARLY
    lead = (_first(static >= wanted) - _first(curve >= wanted)) / len(curve)
    return float(curve.mean()) - shortfall * (behind_static + behind_itself(curve)) + sooner * lead


def behind_itself(curve: NDArray[np.float64]) -> float:
    """How far a curve ever falls below what it had at a smaller budget."""
    return float(np.max(np.maximum.accumulate(curve) - curve))


def _first(reached: NDArray[np.bool_]) -> int:
    """The first place where something holds; beyond the last where it holds nowhere."""
    return int(np.argmax(reached)) if reached.any() else len(reached)


def area_over_log_cost(trajectories: Sequence[Trajectory], budgets: NDArray[np.float64]) -> float:
    """Mean of the curve over a log-spaced grid: the area under it divided by the width."""
    return float(mean_curve(trajectories, budgets).mean())
