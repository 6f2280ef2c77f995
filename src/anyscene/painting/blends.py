"""Blended maps: weighted sums of log-scores in cells that tile the frame, and what leaves add to them."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.hierarchy import Tree
from anyscene.model.nodes import Nodes
from anyscene.painting import blend_kernels as kernels
from anyscene.painting.leaves import Painter


def blend_maps(weighted: Sequence[tuple[float, NDArray[np.float32]]]) -> NDArray[np.float32]:
    """Σ weight·log-scores of maps, float32[h, w, C], which are overwritten, in the cells of the largest."""
    height, width = max((logs.shape[:2] for _, logs in weighted), key=lambda cells: cells[0] * cells[1])
    total: NDArray[np.float32] | None = None
    for weight, logs in weighted:
        logs *= np.float32(weight)
        if logs.shape[:2] != (height, width):
            logs = cv2.resize(logs, (width, height), interpolation=cv2.INTER_LINEAR)
        total = np.asarray(logs) if total is None else np.add(total, logs, out=total)
    assert total is not None
    return total


def add_leaves(
    scores: NDArray[np.float32],
    of_leaf: NDArray[np.float32],
    leaves: NDArray[np.int32],
    tree: Tree,
    nodes: Nodes,
) -> NDArray[np.float32]:
    """Add to the scores of each cell, float32[h, w, C], those of the leaf at its centre, float32[N, C]."""
    if len(leaves) == 1:  # the image as a whole
        kernels.add_row(scores, of_leaf[0])
        return scores
    rows = np.arange(len(leaves), dtype=np.int32)
    leaf_of_cell = Painter(tree, nodes, leaves, (scores.shape[0], scores.shape[1]))(rows)
    kernels.add_leaf_scores(scores, of_leaf, leaf_of_cell)
    return scores
