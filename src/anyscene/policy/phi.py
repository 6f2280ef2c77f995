"""φ(s, a): what the Q-function sees of a state and an action (section 5.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.model.action_costs import Coverage
from anyscene.model.actions import Pool
from anyscene.model.state import State
from anyscene.policy import kernels


@dataclass(frozen=True)
class Phi:
    """The meta-features of a state and of every action in it.

    Q is linear in all three parts: the weights of `state` and `action` are common to all actions, each action
    has its own weights for `own`. Together they are the paper's φ with one block of columns for each action.

    state : float64[F]. action : float64[A, G]. own : float64[A, K].
    """

    state: NDArray[np.float64]
    action: NDArray[np.float64]
    own: NDArray[np.float64]


def describe_state(state: State) -> NDArray[np.float64]:
    """Compute the part of φ that does not depend on the action, float64[F]."""
    return np.asarray(kernels.describe_state(state.arrays))


def describe(state: State, pool: Pool, coverage: Coverage, costs: NDArray[np.float64]) -> Phi:
    """Compute φ(s, a) for every action of the pool."""
    return Phi(*kernels.describe(state.arrays, pool.arrays, coverage, costs))
