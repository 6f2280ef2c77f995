"""From a state to a label map, and a confidence map, at any size."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.hierarchy import Tree
from anyscene.model.nodes import Nodes
from anyscene.model.state import State
from anyscene.painting.blends import add_leaves
from anyscene.painting.cells import labels_by_scores, labels_by_shades
from anyscene.painting.confidence import confidence_between, temper
from anyscene.painting.leaves import Painter, repeated
from anyscene.painting.outlines import follow_outlines

VERSION = 4
"""Raise it when painting changes: reports then score every image again."""


class Painted(NamedTuple):
    """A label map, int16[H, W], and a function that paints how sure each label is, float32[H, W].

    Whoever does not ask how sure the labels are need not wait for it.
    """

    labels: NDArray[np.int16]
    confidence: Callable[[], NDArray[np.float32]]


class Detail(NamedTuple):
    """What shows detail within leaves.

    scores: log-scores of cells that tile the frame, float32[h, w, C].
    of_leaves: log-scores of the leaves, float32[N, C].
    colors: mean colours of the cells, uint8[h, w, 3].
    frame: colours of the working frame's pixels, uint8[H, W, 3].
    """

    scores: NDArray[np.float32]
    of_leaves: NDArray[np.float32]
    colors: NDArray[np.uint8]
    frame: NDArray[np.uint8]


def show(
    state: State, tree: Tree, nodes: Nodes, size: tuple[int, int], temperature: float, detail: Detail | None
) -> Painted:
    """Paint a state at the size (height, width) of the image."""
    if detail is None:
        labels, confidence = leaf_answers(state, temperature)
        paint = Painter(tree, nodes, state.leaves, size)
        return Painted(paint(labels), partial(paint, confidence))
    return paint_detail(detail, state.log_belief, state.leaves, tree, nodes, temperature, size)


def leaf_answers(state: State, temperature: float) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    """Return each leaf's label, int16[N], and the probability that it is right, float32[N]."""
    return state.labels.astype(np.int16), temper(state.belief.max(axis=1), temperature)


def paint_detail(
    detail: Detail,
    log_belief: NDArray[np.float32],
    leaves: NDArray[np.int32],
    tree: Tree,
    nodes: Nodes,
    temperature: float,
    size: tuple[int, int],
) -> Painted:
    """Paint what leaves believe, float32[N, C], with the detail in them, along the frame's outlines.

    No map is finer than the working frame, so a larger image repeats its pixels (`enlarging.py` does better,
    where there is time). A smaller size is a glance: its pixels are mixed by place alone.
    """
    shown = add_leaves(detail.scores, log_belief - detail.of_leaves, leaves, tree, nodes)
    mixed, frame = follow_outlines(shown, detail.colors), (tree.size[0], tree.size[1])
    if size[0] * size[1] < frame[0] * frame[1]:
        return paint_scores(mixed, temperature, size)
    shades, cell_shades = (
        np.asarray(cv2.cvtColor(colors, cv2.COLOR_RGB2GRAY)) for colors in (detail.frame, detail.colors)
    )
    labels = labels_by_shades(mixed, mixed.shape[2], shades, cell_shades)
    confidence = partial(confidence_between, mixed, temperature, frame)
    if size == frame:
        return Painted(labels, confidence)
    return Painted(repeated(labels, size), lambda: repeated(confidence(), size))


def paint_scores(scores: NDArray[np.float32], temperature: float, size: tuple[int, int]) -> Painted:
    """Paint log-beliefs of cells, float32[h, w, C], which need not be normalised.

    Between cells the logarithms are mixed: that labels better than mixed beliefs, and needs no softmax
    (docs/research/2026-11-18-features.md).
    """
    labels = labels_by_scores(scores, scores.shape[2], size)
    return Painted(labels, partial(confidence_between, scores, temperature, size))
