"""The weighted ridge regression of the Q-function (section 4.2 C)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anyscene.policy.policies import LinearQ

Floats = NDArray[np.float64]


def fit_linear_q(
    common: Floats,
    own: Floats,
    action: NDArray[np.int64],
    target: Floats,
    weight: Floats,
    beta: float,
    action_count: int,
    state_width: int,
) -> LinearQ:
    """Fit Q̂ (Eq. 11): least Σ w·(ηᵀφ − target)² / Σ w + β‖η‖², columns of φ scaled to unit RMS.

    common : float64[n, F + G], state features first. own : float64[n, K], the row's block of φ.
    φ has a block of columns for each action; they meet only in the common columns, so they are eliminated
    and the cost grows linearly with the actions.
    """
    common_scale, own_scale = _root_mean_square(common, weight), _root_mean_square(own, weight)
    common, own = common / common_scale, own / own_scale
    weight = weight / weight.sum()
    width, block = common.shape[1], own.shape[1]
    matrix = common.T @ (common * weight[:, None]) + beta * np.eye(width)
    vector = common.T @ (weight * target)
    solved: list[tuple[Floats, Floats]] = []
    for a in range(action_count):
        rows = np.flatnonzero(action == a)
        weighted = own[rows] * weight[rows, None]
        inner = own[rows].T @ weighted + beta * np.eye(block)
        cross = common[rows].T @ weighted
        both = np.linalg.solve(inner, np.column_stack([cross.T, weighted.T @ target[rows]]))
        matrix -= cross @ both[:, :-1]
        vector -= cross @ both[:, -1]
        solved.append((np.asarray(both[:, :-1], float), np.asarray(both[:, -1], float)))
    shared = np.linalg.solve(matrix, vector)
    blocks = np.array([constant - mixed @ shared for mixed, constant in solved])
    shared = shared / common_scale
    return LinearQ(shared[:state_width], shared[state_width:], blocks / own_scale)


def _root_mean_square(x: Floats, weight: Floats) -> Floats:
    scale = np.sqrt(np.average(x**2, axis=0, weights=weight))
    return np.asarray(np.where(scale > 1e-9, scale, 1.0))
