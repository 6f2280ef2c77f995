"""From beliefs of leaves to a label map and a confidence map at the size of the image."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from anyscene.engine import kernels
from anyscene.hierarchy import Tree
from anyscene.model.nodes import Nodes
from anyscene.model.state import State

Value = TypeVar("Value", bound=np.generic)


def leaf_answers(state: State, temperature: float) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    """Return each leaf's label, int16[N], and the probability that it is right, float32[N].

    temperature : beliefs are q^(1/T), normalised, before the largest is taken for a probability.
    """
    # softmax(log q / T) at its largest entry is 1 / Σ exp((log q - log q_max) / T).
    spread = np.exp(
        (state.log_belief - state.log_belief.max(axis=1, keepdims=True)) / np.float32(temperature)
    )
    return state.labels.astype(np.int16), np.float32(1) / spread.sum(axis=1)


class Painter:
    """Paints values of leaves at the size (height, width) of the image."""

    def __init__(self, tree: Tree, nodes: Nodes, leaves: NDArray[np.int32], size: tuple[int, int]) -> None:
        self._holder = kernels.leaf_of_regions(leaves, nodes.start, nodes.child_start, nodes.child)
        self._regions = tree.pixels
        self._size = size
        self._rows = _blocks(size[0], tree.size[0], tree.stride)
        self._columns = _blocks(size[1], tree.size[1], tree.stride)

    def __call__(self, values: NDArray[Value]) -> NDArray[Value]:
        """Give every pixel the value of the leaf that it lies in."""
        out = np.empty(self._size, values.dtype)
        kernels.paint(self._regions, values[self._holder], self._rows, self._columns, out)
        return out


def _blocks(pixels: int, frame: int, stride: int) -> NDArray[np.int32]:
    """The block of the tree's grid under the centre of each pixel along one side of the image."""
    return ((2 * np.arange(pixels, dtype=np.int64) + 1) * frame // (2 * pixels) // stride).astype(np.int32)
