"""What each action costs in a state, in milliseconds (section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anyscene.model import cost_kernels
from anyscene.model.actions import Pool
from anyscene.model.state import State


class Coverage(NamedTuple):
    """What each action of a pool would touch in a state, float64[A] each.

    area : share of the image. doubt : the entropy there times its area. regions : how many leaves there are
    after the action among the touched (for a split the expected number of children).
    layer : int64[A], the finest layer touched (for a split the children's).
    """

    area: NDArray[np.float64]
    doubt: NDArray[np.float64]
    regions: NDArray[np.float64]
    layer: NDArray[np.int64]


class CostArrays(NamedTuple):
    """The parts of ActionCosts that compiled loops read.

    item_start, item : the items of each (set, layer), one list after the other, and where each begins.
    """

    step: float
    region: float
    tree: float
    input: float
    grow: NDArray[np.float64]
    pooling: NDArray[np.float64]
    items: NDArray[np.float64]
    item_start: NDArray[np.int64]
    item: NDArray[np.int64]


@dataclass(frozen=True)
class ActionCosts:
    """A calibrated cost of every part of an action, in milliseconds for an image of the working frame.

    start : before the first action. step : fixed overhead of any action.
    grow : float64[L], growing layer k. branching : float64[L], mean children of a region of layer k.
    region : making one new leaf. tree : one weak learner on one region. input : reading a region's features.
    pooling : float64[S, L], pooling a set onto the regions of layer k.
    items : float64[M], what must be there before a set can be pooled onto a layer: its map, shared maps, the
    regions' shapes. Each is made, and paid for, once.
    requires : bool[S, L, M], which items a set needs on layer k.

    A cost depends on the state and the action alone, never on layers that are not grown yet. So the engine
    predicts the very number that learning used.
    """

    start: float
    step: float
    grow: NDArray[np.float64]
    branching: NDArray[np.float64]
    region: float
    tree: float
    input: float
    pooling: NDArray[np.float64]
    items: NDArray[np.float64]
    requires: NDArray[np.bool_]

    @property
    def everything(self) -> float:
        """What it costs to grow the whole tree and to extract every set."""
        return float(self.start + self.grow.sum() + self.items.sum())

    def of_actions(self, state: State, pool: Pool, coverage: Coverage) -> NDArray[np.float64]:
        """Return the cost of every action of the pool, offered or not, float64[A]."""
        return np.asarray(cost_kernels.action_costs(state.arrays, pool.arrays, self.arrays, coverage))

    @cached_property
    def arrays(self) -> CostArrays:
        """The costs as compiled loops take them."""
        pairs = self.requires.reshape(-1, len(self.items))
        item_start = np.concatenate([[0], np.cumsum(pairs.sum(axis=1))]).astype(np.int64)
        item = np.nonzero(pairs)[1].astype(np.int64)
        return CostArrays(
            step=float(self.step),
            region=float(self.region),
            tree=float(self.tree),
            input=float(self.input),
            grow=self.grow,
            pooling=self.pooling,
            items=self.items,
            item_start=item_start,
            item=item,
        )


def coverage(state: State, pool: Pool, branching: NDArray[np.float64]) -> Coverage:
    """Work out what each action of the pool would touch; equal for all updates, by threshold for splits."""
    return Coverage(*cost_kernels.cover(state.arrays, pool.arrays, branching))


def offered(state: State, pool: Pool, coverage: Coverage) -> NDArray[np.bool_]:
    """Tell which actions of the pool would change something in this state, bool[A]."""
    return np.asarray(cost_kernels.offered(state.arrays, pool.arrays, coverage))


def costs_on_whole(
    sequence: Sequence[int], start: State, pool: Pool, costs: ActionCosts
) -> NDArray[np.float64]:
    """What blends of the image as a whole cost, one after the other from the start, float64[T]."""
    spent, state = [], start
    for action in sequence:
        spent.append(costs.of_actions(state, pool, coverage(state, pool, costs.branching))[action])
        in_hand = state.in_hand.copy()
        in_hand[pool.needs[action], 0] = True
        state = replace(state, in_hand=in_hand)
    return np.array(spent)
