"""The regions of all layers of one tree under one numbering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.hierarchy import Tree


@dataclass(frozen=True)
class Nodes:
    """Every region of the layers in hand; region r of layer k is node `start[k] + r`.

    A tree never changes a layer that it has handed out, so growing only appends nodes and ids stay valid.

    start : int32[K + 1], the first node of each of the K layers in hand, and the node count.
    layer : int8[n]. area : float32[n], share of the image; the areas of a layer sum to 1.
    child_start, child : int32[n + 1], int32[n - 1]; the children of node i are
    `child[child_start[i]:child_start[i + 1]]`, none for nodes of the finest layer in hand.
    """

    start: NDArray[np.int32]
    layer: NDArray[np.int8]
    area: NDArray[np.float32]
    child_start: NDArray[np.int32]
    child: NDArray[np.int32]

    @property
    def layer_count(self) -> int:
        """How many layers are in hand."""
        return len(self.start) - 1

    @property
    def count(self) -> int:
        """How many regions the layers in hand have together."""
        return int(self.start[-1])


def nodes_of(tree: Tree) -> Nodes:
    """Number the regions of the layers that a tree has grown."""
    return nodes_from_layers(tree.parents, [area.astype(np.float32) for area in tree.areas])


def nodes_from_layers(parents: Sequence[NDArray[np.int32]], areas: Sequence[NDArray[np.float32]]) -> Nodes:
    """Number the regions of all layers.

    parents[k] holds, for each region of layer k, its region in layer k - 1 (parents[0] is ignored);
    areas[k] holds the regions' areas in any unit.
    """
    sizes = np.array([len(area) for area in areas], dtype=np.int32)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    layer = np.repeat(np.arange(len(sizes), dtype=np.int8), sizes)
    area = np.concatenate(areas).astype(np.float32) / np.float32(np.sum(areas[0], dtype=np.float64))
    parent = np.concatenate([parents[k] + start[k - 1] for k in range(1, len(sizes))] or [sizes[:0]])
    child = np.argsort(parent, kind="stable").astype(np.int32) + sizes[0]
    child_counts = np.bincount(parent, minlength=int(start[-1]))
    child_start = np.concatenate([[0], np.cumsum(child_counts)]).astype(np.int32)
    return Nodes(start, layer, area, child_start, child)
