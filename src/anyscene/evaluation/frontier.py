"""The static frontier: the network run whole at fixed input sizes, the rival that anytime labeling must beat.

Each size takes the decoded image to a label map of the same size on one thread: shrink, run, paint. Painting
is the faster of enlarging the scores and enlarging the labels, as long as it loses at most 0.2 points of
pixel accuracy to the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene import metrics
from anyscene.data import Scene
from anyscene.features.hypercolumn.crops import crop_scores, reading
from anyscene.features.hypercolumn.labels import labels_by_cells, labels_by_scores
from anyscene.features.hypercolumn.network import Head, Network, input_size
from anyscene.features.hypercolumn.rungs import RUNGS, Size, size_of_name
from anyscene.features.view import Rect
from anyscene.hierarchy import WORKING_LONG_SIDE, fit
from anyscene.model.kernels import BELIEF_FLOOR

TOLERANCE = 0.002

SIZES = tuple(dict.fromkeys(map(size_of_name, RUNGS)))
"""The usual ladder's: nine, the frame's aspect kept."""

Paint = Callable[[NDArray[np.float32], int, tuple[int, int]], NDArray[np.int16]]
PAINTINGS: dict[str, Paint] = {"scores": labels_by_scores, "cells": labels_by_cells}


@dataclass(frozen=True)
class Point:
    """One input size: what it costs (median milliseconds of one image) and how well it labels."""

    size: Size
    painting: str
    cost_ms: float
    pixel: float
    class_mean: float
    iou: float
    counts: NDArray[np.int64]


@dataclass(eq=False)
class _Tally:
    counts: NDArray[np.int64]
    costs: list[float]


def measure_frontier(
    network: Network,
    head: Head,
    scenes: Iterable[Scene],
    sizes: Sequence[Size] = SIZES,
    clock: Callable[[], float] = time.perf_counter,
    beside: Callable[[NDArray[np.uint8]], None] | None = None,
) -> tuple[Point, ...]:
    """Label every scene at every size in turn, timing each from the decoded image to the labels.

    clock : in seconds; `time.thread_time` where others keep the machine busy.
    beside : done with every image as well, so that it is timed at the same moments.
    """
    shape = (head.classes, head.classes + 1)
    tallies = {(s, p): _Tally(np.zeros(shape, np.int64), []) for s in sizes for p in PAINTINGS}
    scores_only = Head(head.weight[: head.classes], head.bias[: head.classes], head.classes)
    for position, scene in enumerate(scenes):
        if scene.truth is None:
            continue
        if position == 0:
            for size in sizes:  # compiles, allocates and warms caches before anything is timed
                for paint in PAINTINGS.values():
                    label_whole(network, scores_only, scene.image, size, paint)
        # Every scene starts with another size, so that none always finds the caches as the largest left them.
        turns = list(tallies.items())
        start = position % len(turns)
        for (size, painting), tally in turns[start:] + turns[:start]:
            begun = clock()
            labels = label_whole(network, scores_only, scene.image, size, PAINTINGS[painting])
            tally.costs.append((clock() - begun) * 1e3)
            tally.counts += metrics.count(scene.truth, labels, head.classes)
        if beside:
            beside(scene.image)
    return tuple(_faster([_point(s, p, tallies[s, p]) for p in PAINTINGS]) for s in sizes)


def label_whole(
    network: Network, head: Head, image: NDArray[np.uint8], size: Size, paint: Paint = labels_by_scores
) -> NDArray[np.int16]:
    """Label an image with one run of the network."""
    height, width = image.shape[:2]
    scores = network.scores(fit_to_frame(image, size), head)
    return paint(scores, head.classes, (height, width))


def label_crop(
    network: Network, head: Head, frame: NDArray[np.uint8], rect: Rect, scale: float
) -> NDArray[np.int16]:
    """Label a rectangle of a working frame by a run on it and its margin at a scale of the frame."""
    size = frame.shape[0], frame.shape[1]
    fitted = fit(frame, input_size(*size, scale))
    scores = crop_scores(network, head, fitted, reading(rect, size, scale))
    return labels_by_scores(scores, head.classes, (rect.height, rect.width))


def fit_to_frame(image: NDArray[np.uint8], size: Size) -> NDArray[np.uint8]:
    """Make the network's input from an image, or a part of one."""
    height, width = image.shape[:2]
    scale, squeeze = size
    share = min(1.0, WORKING_LONG_SIDE / max(height, width))
    return fit(image, input_size(height, width, scale * share, squeeze))


def loss_whole(network: Network, head: Head, scene: Scene, size: Size) -> float:
    """Cross-entropy of the network's probabilities, enlarged to the image, over the pixels of known truth."""
    assert scene.truth is not None
    height, width = scene.truth.shape
    scores = network.scores(fit_to_frame(scene.image, size), head)[..., : head.classes]
    enlarged = cv2.resize(scores, (width, height), interpolation=cv2.INTER_LINEAR)
    known = scene.truth >= 0
    rows = enlarged[known] - enlarged[known].max(axis=1, keepdims=True)
    held = np.take_along_axis(rows, scene.truth[known][:, None].astype(np.int64), axis=1)[:, 0]
    terms = np.log(np.exp(rows).sum(axis=1)) - held
    return float(np.minimum(terms, -np.log(BELIEF_FLOOR)).mean()) if len(terms) else 0.0


def best_within(points: Sequence[Point], cost_ms: float) -> float:
    """The frontier as a step function: the best pixel accuracy for no more cost; NaN below all sizes."""
    return max((point.pixel for point in points if point.cost_ms <= cost_ms), default=float("nan"))


def _point(size: Size, painting: str, tally: _Tally) -> Point:
    counts = tally.counts
    scores = metrics.pixel_accuracy(counts), metrics.class_accuracy(counts), metrics.mean_iou(counts)
    return Point(size, painting, float(np.median(tally.costs)), *scores, counts)


def _faster(candidates: Sequence[Point]) -> Point:
    good_enough = max(point.pixel for point in candidates) - TOLERANCE
    return min((p for p in candidates if p.pixel >= good_enough), key=lambda point: point.cost_ms)
