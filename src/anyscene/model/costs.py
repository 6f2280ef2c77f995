"""What each action costs in a state, in milliseconds (section 3.3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anyscene.model.actions import Pool, opened_by
from anyscene.model.state import State


@dataclass(frozen=True)
class Coverage:
    """What each action of a pool would touch in a state, float64[A] each.

    area : share of the image. doubt : the entropy there times its area. regions : how many leaves there are
    after the action among the touched (for a split the expected number of children).
    layer : int64[A], the finest layer touched (for a split the children's).
    """

    area: NDArray[np.float64]
    doubt: NDArray[np.float64]
    regions: NDArray[np.float64]
    layer: NDArray[np.int64]


@dataclass(frozen=True)
class ActionCosts:
    """A calibrated cost of every part of an action, in milliseconds for an image of the working frame.

    start : before the first action. step : fixed overhead of any action.
    grow : float64[L], growing layer k. branching : float64[L], mean children of a region of layer k.
    region : making one new leaf. tree : one weak learner on one region. input : reading a region's features.
    extract : float64[S], each feature set without shared maps. maps : float64[M], the shared maps.
    set_maps : bool[S, M], which maps a set is made from.
    pooling : float64[S, L], pooling a set onto the regions of layer k, the finest in hand.

    A cost depends on the state and the action alone, never on layers that are not grown yet, so that the
    engine foretells the very number that learning used.
    """

    start: float
    step: float
    grow: NDArray[np.float64]
    branching: NDArray[np.float64]
    region: float
    tree: float
    input: float
    extract: NDArray[np.float64]
    maps: NDArray[np.float64]
    set_maps: NDArray[np.bool_]
    pooling: NDArray[np.float64]

    def of_actions(self, state: State, pool: Pool, coverage: Coverage) -> NDArray[np.float64]:
        """Return the cost of every action of the pool, offered or not, float64[A]."""
        new_sets = pool.needs & ~state.in_hand
        new_maps = (new_sets @ self._set_maps_count > 0) & ~(state.in_hand @ self.set_maps)
        extraction = new_sets @ (self.extract + self.pooling[:, state.finest]) + new_maps @ self.maps
        trees = np.maximum(pool.size_of - state.applied[pool.chain_of], 0) if pool.chains else pool.size_of
        learners = coverage.regions * (trees * self.tree + self.input)
        growing = self.grow[coverage.layer] + state.in_hand @ self.pooling[:, coverage.layer]
        growing = np.where(coverage.layer > state.finest, growing, 0.0)
        splits = growing + coverage.regions * self.region
        return self.step + np.where(pool.chain_of >= 0, extraction + learners, splits)

    @cached_property
    def _set_maps_count(self) -> NDArray[np.int64]:
        return self.set_maps.astype(np.int64)


def coverage(state: State, pool: Pool, branching: NDArray[np.float64]) -> Coverage:
    """Work out what each action of the pool would touch; equal for all updates, by threshold for splits."""
    doubt = state.area * state.entropy
    width = len(pool.actions)
    result = Coverage(np.zeros(width), np.zeros(width), np.zeros(width), np.zeros(width, np.int64))

    def fill(where: NDArray[np.bool_], leaves: NDArray[np.bool_], children: bool) -> None:
        layers = state.layers[leaves]
        result.area[where] = state.area[leaves].sum()
        result.doubt[where] = doubt[leaves].sum()
        result.regions[where] = branching[layers].sum() if children else len(layers)
        result.layer[where] = np.max(layers, initial=0) + (children and len(layers) > 0)

    fill(pool.chain_of >= 0, state.active, children=False)
    for threshold in np.unique(pool.thresholds[pool.chain_of < 0]):
        opened = opened_by(state, threshold, pool.layer_count)
        fill(pool.thresholds == threshold, opened, children=True)
    return result
