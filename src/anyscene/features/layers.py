"""`Layers`: a tree's layers as grids to pool on, and the shapes of their regions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anyscene.features.pooling import Grid, sum_up
from anyscene.features.shapes import Shapes, shape_sums, shapes_from_sums
from anyscene.hierarchy import Tree


class Layers:
    """The layers of a tree in hand, each drawn on the grid that it was made on.

    A *level* is the run of layers that were made on the same grid. Working layer by layer on their own grids
    makes whatever is pooled independent of how far the tree has grown, and cheap for coarse layers.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._grids: dict[int, Grid] = {}
        self._shape_sums: dict[int, NDArray[np.float64]] = {}
        self._shapes: dict[int, Shapes] = {}

    def stride(self, layer: int) -> int:
        """Side of the blocks that a layer was made on, in frame pixels."""
        return self.tree.strides[layer]

    def level(self, layer: int) -> range:
        """The layers in hand that share a layer's grid."""
        stride, first, last = self.stride(layer), layer, layer
        while first > 0 and self.stride(first - 1) == stride:
            first -= 1
        while last + 1 < self.tree.depth and self.stride(last + 1) == stride:
            last += 1
        return range(first, last + 1)

    def count(self, layer: int) -> int:
        """Regions of a layer."""
        return len(self.tree.areas[layer])

    def parents(self, layer: int) -> NDArray[np.int32]:
        """For each region of a layer, the region of the layer above that holds it."""
        return self.tree.parents[layer]

    def grid(self, layer: int) -> Grid:
        """A layer on its own grid."""
        if layer not in self._grids:
            pixels = self.tree.region_map(layer)
            self._grids[layer] = Grid(pixels, self.stride(layer), self.count(layer), self.tree.size)
        return self._grids[layer]

    def areas(self, layer: int) -> NDArray[np.float64]:
        """Grid pixels of each region of a layer."""
        return self._sums(layer)[:, 0]

    def has_shapes(self, layer: int) -> bool:
        """Tell whether `shapes` is in hand already."""
        return layer in self._shapes

    def shapes(self, layer: int) -> Shapes:
        """Where the regions of a layer lie and what they look like."""
        if layer not in self._shapes:
            self._shapes[layer] = shapes_from_sums(
                self._sums(layer), self.tree.boxes[layer], self.stride(layer), self.tree.size
            )
        return self._shapes[layer]

    def _sums(self, layer: int) -> NDArray[np.float64]:
        if layer not in self._shape_sums:
            level = self.level(layer)
            sums = shape_sums(self.grid(level[-1]))
            for current in reversed(level):
                if current < level[-1]:
                    sums = sum_up(sums, self.parents(current + 1), self.count(current))
                self._shape_sums.setdefault(current, sums)
        return self._shape_sums[layer]
