"""`Layers`: a tree's layers as grids to pool on, and the shapes of their regions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anyscene.features.ledger import Ledger, Work
from anyscene.features.pooling import Grid, sum_up
from anyscene.features.shapes import Shapes, shape_sums, shapes_from_sums
from anyscene.hierarchy import Tree
from anyscene.hierarchy.scales import region_counts


class Layers:
    """The layers of a tree in hand, each drawn on the grid that it was made on.

    A *level* is a run of layers that were made on the same grid. Each layer is pooled on its own grid. So
    what is pooled does not depend on how far the tree has grown, and coarse layers are cheap.
    """

    def __init__(self, tree: Tree, ledger: Ledger) -> None:
        self.tree = tree
        self._ledger = ledger
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
            with self._ledger.charge(self.grid_work(layer)):
                pixels = self.tree.region_map(layer)
            self._grids[layer] = Grid(pixels, self.stride(layer), self.count(layer), self.tree.size)
        return self._grids[layer]

    def grid_work(self, layer: int) -> Work:
        """The work of drawing a layer on its grid."""
        return Work("grid", self.blocks(layer), self.count(self.tree.depth - 1))

    def has_grid(self, layer: int) -> bool:
        """Tell whether `grid` is in hand already."""
        return layer in self._grids

    def blocks(self, layer: int) -> int:
        """Blocks of a layer's grid."""
        stride, (height, width) = self.stride(layer), self.tree.size
        return int(-(-height // stride) * -(-width // stride))

    def has_shapes(self, layer: int) -> bool:
        """Tell whether `shapes` is in hand already."""
        return layer in self._shapes

    def shapes(self, layer: int) -> Shapes:
        """Where the regions of a layer lie and what they look like."""
        if layer not in self._shapes:
            with self._ledger.charge(self.shapes_work(layer)):
                self._shapes[layer] = shapes_from_sums(
                    self._sums(layer), self.tree.boxes[layer], self.stride(layer), self.tree.size
                )
        return self._shapes[layer]

    def shapes_work(self, layer: int) -> Work:
        """The work of describing the shapes of a layer: the pixels are visited once for a level."""
        return Work("shapes", 0 if layer in self._shape_sums else self.blocks(layer), self.count(layer))

    def _sums(self, layer: int) -> NDArray[np.float64]:
        if layer not in self._shape_sums:
            level = self.level(layer)
            sums = shape_sums(self.grid(level[-1]))
            for current in reversed(level):
                if current < level[-1]:
                    sums = sum_up(sums, self.parents(current + 1), self.count(current))
                self._shape_sums.setdefault(current, sums)
        return self._shape_sums[layer]


def growth_work(tree: Tree, layer: int) -> Work:
    """The work of growing a layer; the first layer on a grid visits that grid's blocks."""
    height, width = tree.size
    stride = tree.strides[layer]
    is_first = layer == 1 or tree.strides[layer - 1] != stride
    pixels = -(-height // stride) * -(-width // stride) if is_first else 0
    return Work(f"grow:{layer}", int(pixels), region_counts(height * width)[layer])
