"""φ(s, a): what the Q-function sees of a state and an action (section 5.1)."""

from __future__ import annotations

from dataclasses import dataclass
from math import log1p

import numpy as np
from numpy.typing import NDArray

from anyscene.model import decision_kernels
from anyscene.model.actions import Pool
from anyscene.model.costs import Coverage
from anyscene.model.state import State

MARGIN_EDGES = np.array([0.2, 0.4, 0.6, 0.8])
STRONGEST = 8
"""How many of the state features, the first, interact with every action (besides the active layers)."""


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


def describe_state(state: State, pool: Pool) -> NDArray[np.float64]:
    """The paper's three groups of state features: all regions, active regions, layers; and what was spent."""
    sums, layers, active_layers, margins = decision_kernels.leaf_statistics(
        state.belief,
        state.area,
        state.entropy,
        state.previous_entropy,
        state.active,
        state.layers,
        pool.layer_count,
        MARGIN_EDGES,
    )
    entropy, margin, gap, active_area, active_entropy, active_gap = sums.tolist()
    active_area = max(active_area, 1e-12)
    applied = int(state.applied.sum())
    strongest = (
        1.0,
        entropy,
        margin,
        active_area,
        active_entropy / active_area,
        active_gap / active_area,
        log1p(applied),
        log1p(state.cost),
    )
    used = state.in_hand.any(axis=1)
    rest = (gap, 1 / (1 + state.cost))
    fresh_layers = np.zeros(pool.layer_count) if applied else active_layers
    return np.concatenate((strongest, active_layers, fresh_layers, layers, margins, used, rest))


def describe(state: State, pool: Pool, coverage: Coverage, costs: NDArray[np.float64]) -> Phi:
    """Compute φ(s, a) for every action of the pool."""
    of_state = describe_state(state, pool)
    constant = pool.constants.shape[1]
    of_action = np.empty((len(costs), constant + 5 + len(pool.sets)))
    of_action[:, :constant] = pool.constants
    varying = of_action[:, constant:]
    np.log(costs, out=varying[:, 0])
    varying[:, 1] = coverage.area
    varying[:, 2] = coverage.doubt
    np.divide(varying[:, 1:3], costs[:, None], out=varying[:, 3:5])
    varying[:, 5:] = pool.needs & ~state.in_hand.any(axis=1)
    # Every action weighs the strongest state features and the layers of the active leaves, fresh or updated
    # before, for itself: a chain is good on the layers it was fitted to, and where little was applied before
    # it. A reward is a gain divided by the cost, so each comes plain and divided.
    strongest = STRONGEST + 2 * pool.layer_count
    own = np.empty((len(costs), 2 * (strongest + 1)))
    own[:, :strongest] = of_state[:strongest]
    own[:, strongest] = coverage.doubt
    np.divide(own[:, : strongest + 1], costs[:, None], out=own[:, strongest + 1 :])
    return Phi(of_state, of_action, own)
