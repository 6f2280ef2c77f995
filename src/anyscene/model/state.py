"""The state of labeling one image (section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anyscene.model import kernels


class StateArrays(NamedTuple):
    """The parts of a state that compiled loops read, each as `State` describes it."""

    layers: NDArray[np.int8]
    area: NDArray[np.float32]
    belief: NDArray[np.float32]
    entropy: NDArray[np.float32]
    previous_entropy: NDArray[np.float32]
    active: NDArray[np.bool_]
    in_hand: NDArray[np.bool_]
    applied: NDArray[np.int16]
    maps: NDArray[np.intp]
    finest: int
    cost: float


@dataclass(frozen=True)
class State:
    """Leaves and their beliefs, what is active, what has been paid for.

    The leaves tile the image. A state never changes: actions make new ones.

    leaves : int32[N] nodes. layers : int8[N] the layer of each leaf. area : float32[N] share of the image.
    belief : float32[N, C], rows sum to 1, no entry below the floor.
    parent_belief : float32[N, C], the parent's belief when the leaf was split off (Eq. 2's input).
    previous_entropy : float32[N], the leaf's entropy before its latest update.
    active : bool[N], made by the latest split; only these change in an update.
    in_hand : bool[S, L], feature sets extracted and pooled onto a layer so far.
    applied : int16[B], trees of each chain applied to the present active leaves.
    detail : float32[S], weights of the maps that show detail within leaves (see `shown.py`); 0 for others.
    finest : the finest layer grown. cost : milliseconds spent. steps : actions taken.
    """

    leaves: NDArray[np.int32]
    layers: NDArray[np.int8]
    area: NDArray[np.float32]
    belief: NDArray[np.float32]
    parent_belief: NDArray[np.float32]
    previous_entropy: NDArray[np.float32]
    active: NDArray[np.bool_]
    in_hand: NDArray[np.bool_]
    applied: NDArray[np.int16]
    detail: NDArray[np.float32]
    finest: int
    cost: float
    steps: int

    @cached_property
    def log_belief(self) -> NDArray[np.float32]:
        """Logarithm of the beliefs, float32[N, C]; finite, since beliefs are floored."""
        return np.log(self.belief)

    @cached_property
    def entropy(self) -> NDArray[np.float32]:
        """Entropy of each leaf's belief in nats, float32[N]."""
        return np.asarray(-np.einsum("ik,ik->i", self.belief, self.log_belief))

    @cached_property
    def active_rows(self) -> NDArray[np.int64]:
        """The rows of the active leaves, int64[n]."""
        return np.flatnonzero(self.active)

    @cached_property
    def active_layers(self) -> NDArray[np.bool_]:
        """Which layers have active leaves, bool[L]."""
        return np.bincount(self.layers[self.active], minlength=self.in_hand.shape[1]) > 0

    @cached_property
    def maps(self) -> NDArray[np.intp]:
        """The feature sets whose maps show detail within leaves."""
        return np.flatnonzero(self.detail)

    @cached_property
    def arrays(self) -> StateArrays:
        """The state as compiled loops take it."""
        return StateArrays(*(getattr(self, name) for name in StateArrays._fields))

    @cached_property
    def labels(self) -> NDArray[np.intp]:
        """Most likely class of each leaf, int64[N]."""
        labels: NDArray[np.intp] = np.argmax(self.belief, axis=1)
        return labels


def initial_state(
    prior: NDArray[np.float32], set_count: int, layer_count: int, chain_count: int, cost: float = 0.0
) -> State:
    """Return the root alone, active, believing the prior; `cost` is what came before the first action."""
    belief = np.maximum(prior, kernels.BELIEF_FLOOR).astype(np.float32)[None]
    belief /= belief.sum()
    return State(
        leaves=np.zeros(1, np.int32),
        layers=np.zeros(1, np.int8),
        area=np.ones(1, np.float32),
        belief=belief,
        parent_belief=belief,
        previous_entropy=-np.sum(belief * np.log(belief), axis=1),
        active=np.ones(1, np.bool_),
        in_hand=np.zeros((set_count, layer_count), np.bool_),
        applied=np.zeros(chain_count, np.int16),
        detail=np.zeros(set_count, np.float32),
        finest=0,
        cost=cost,
        steps=0,
    )
