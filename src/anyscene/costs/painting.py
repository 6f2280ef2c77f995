"""What painting labels takes on this machine."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.costs.timing import milliseconds
from anyscene.features import Bank, FeatureSet, View
from anyscene.hierarchy import LAYERS, Tree
from anyscene.model.nodes import nodes_of
from anyscene.painting.blends import blend_maps
from anyscene.painting.leaves import Painter
from anyscene.painting.show import Detail, paint_detail

DETAIL_FRAME = (360, 480)
"""Height and width of the frame in which painting detail is measured."""


def measure_painting(
    bank: Bank, frame: NDArray[np.uint8], classes: int, rounds: int = 15
) -> dict[str, float]:
    """Measure painting a frame by the map of each set that shows detail, by set."""
    tree = Tree(frame)
    nodes = nodes_of(tree)
    root, size = np.zeros(1, np.int32), (frame.shape[0], frame.shape[1])
    of_root = np.zeros((1, classes), np.float32)
    view = View(frame)
    found = {}
    for name, chosen in bank.items():
        if not chosen.fineness:
            continue
        values = chosen.extract(view)

        def paint(chosen: FeatureSet = chosen, values: NDArray[np.float32] = values) -> object:
            scores = blend_maps([(1.0, chosen.log_scores(values, classes))])
            detail = Detail(scores, of_root, view.colors(scores.shape[0], scores.shape[1]), frame)
            return paint_detail(detail, of_root, root, tree, nodes, 1.2, size)

        found[name] = milliseconds(paint, rounds)
    return found


def measure_leaves(frame: NDArray[np.uint8], rounds: int = 15) -> float:
    """Measure painting a frame whose leaves are the finest regions."""
    tree = Tree(frame)
    tree.grow(LAYERS)
    nodes = nodes_of(tree)
    leaves = np.arange(nodes.start[LAYERS - 1], nodes.start[LAYERS], dtype=np.int32)
    labels, size = np.zeros(len(leaves), np.int16), (frame.shape[0], frame.shape[1])
    return milliseconds(lambda: Painter(tree, nodes, leaves, size)(labels), rounds)


def measure_detail(classes: int, rounds: int = 15) -> dict[int, float]:
    """Measure painting with the detail of two maps, by the number of leaves."""
    random = np.random.default_rng(0)
    frame = cv2.resize(random.integers(0, 256, (23, 30, 3), dtype=np.uint8), DETAIL_FRAME[::-1])
    tree, view = Tree(frame), View(frame)
    tree.grow(LAYERS)
    nodes = nodes_of(tree)
    coarse = random.dirichlet(np.full(classes, 0.1), (6, 8)).astype(np.float32)
    logs, smaller = (np.log(cv2.resize(coarse, size)) for size in ((60, 45), (30, 23)))
    found = {}
    for layer in (0, LAYERS // 2, LAYERS - 1):
        leaves = np.arange(nodes.start[layer], nodes.start[layer + 1], dtype=np.int32)
        of_leaf = random.uniform(-0.2, 0.2, (len(leaves), classes)).astype(np.float32)

        def paint(leaves: NDArray[np.int32] = leaves, of_leaf: NDArray[np.float32] = of_leaf) -> object:
            scores = blend_maps([(0.5, logs.copy()), (0.2, smaller.copy())])
            detail = Detail(
                scores, np.zeros_like(of_leaf), view.colors(scores.shape[0], scores.shape[1]), frame
            )
            return paint_detail(detail, of_leaf, leaves, tree, nodes, 1.2, DETAIL_FRAME)

        found[len(leaves)] = milliseconds(paint, rounds)
    return found
