"""From values of leaves, or of the frame's pixels, to pixels of an image of any size."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from anyscene.hierarchy import Tree
from anyscene.model.kernels import leaf_of_regions
from anyscene.model.nodes import Nodes
from anyscene.painting import leaf_kernels as kernels

Value = TypeVar("Value", bound=np.generic)


class Painter:
    """Paints values of leaves at the size (height, width) of the image."""

    def __init__(self, tree: Tree, nodes: Nodes, leaves: NDArray[np.int32], size: tuple[int, int]) -> None:
        self._leaf_of_region = leaf_of_regions(leaves, nodes.start, nodes.child_start, nodes.child)
        self._regions = tree.pixels
        self._size = size
        self._rows = _blocks(size[0], tree.size[0], tree.stride)
        self._columns = _blocks(size[1], tree.size[1], tree.stride)

    def __call__(self, values: NDArray[Value]) -> NDArray[Value]:
        """Give every pixel the value of the leaf that it lies in."""
        out = np.empty(self._size, values.dtype)
        kernels.paint(self._regions, values[self._leaf_of_region], self._rows, self._columns, out)
        return out


def paint_finest(values: NDArray[Value], tree: Tree) -> NDArray[Value]:
    """Give every pixel of the working frame the value of its finest region."""
    height, width = tree.size
    blocks = values[tree.pixels].repeat(tree.stride, axis=0).repeat(tree.stride, axis=1)
    return blocks[:height, :width]


def repeated(values: NDArray[Value], size: tuple[int, int]) -> NDArray[Value]:
    """Give every pixel of an image of (height, width) the nearest of some values; OpenCV takes longer."""
    out = np.empty(size, values.dtype)
    rows, columns = (_blocks(size[side], values.shape[side], 1) for side in (0, 1))
    kernels.repeat(values, rows, columns, out)
    return out


@lru_cache(maxsize=256)
def _blocks(pixels: int, frame: int, stride: int) -> NDArray[np.int32]:
    """The block of `stride` frame pixels under the centre of each pixel along one side of the image."""
    return ((2 * np.arange(pixels, dtype=np.int64) + 1) * frame // (2 * pixels) // stride).astype(np.int32)
