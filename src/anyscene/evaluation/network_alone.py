"""Networks alone at fixed input sizes: the rivals that anytime labeling must beat.

Each size takes the decoded image to a label map of the same size on one thread: shrink, run, paint. Painting
enlarges the scores, or the labels where that is faster and loses hardly any accuracy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene import metrics
from anyscene.data import Scene, SceneList
from anyscene.evaluation.scores import Curve, Scores
from anyscene.features.hypercolumn.network import Head, Network, head_from_arrays
from anyscene.features.hypercolumn.rung import RUNGS, Rung, input_size, networks_among, rungs_among
from anyscene.hierarchy import WORKING_LONG_SIDE, fit
from anyscene.model.kernels import BELIEF_FLOOR
from anyscene.modelfile import TrainedModel
from anyscene.painting.cells import labels_by_cells, labels_by_scores

TOLERANCE = 0.002
"""The pixel accuracy that the faster painting may lose."""

SIZES = tuple(dict.fromkeys(rung.unmirrored for rung in RUNGS))
"""The nine usual input sizes, in the frame's aspect."""

Paint = Callable[[NDArray[np.float32], int, tuple[int, int]], NDArray[np.int16]]
PAINTINGS: dict[str, Paint] = {"scores": labels_by_scores, "cells": labels_by_cells}

Networks = Mapping[str, tuple[Network, Head]]
"""Networks and the heads to read, by the names that rungs call them."""


@dataclass(frozen=True)
class Point:
    """One input size: what it costs (median milliseconds of one image) and how well it labels."""

    rung: Rung
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


def measure_network_alone(
    networks: Networks,
    scenes: Iterable[Scene],
    sizes: Sequence[Rung] = SIZES,
    clock: Callable[[], float] = time.perf_counter,
    beside: Callable[[NDArray[np.uint8]], None] | None = None,
) -> tuple[Point, ...]:
    """Label every scene at every size in turn, timing each from the decoded image to the labels.

    clock : gives seconds; `time.thread_time` where others keep the machine busy.
    beside : called with every image as well, so that what it times is timed at the same moments.
    """
    bare = _bare(networks)
    classes = bare[sizes[0].network][1].classes
    shape = (classes, classes + 1)
    tallies = {(s, p): _Tally(np.zeros(shape, np.int64), []) for s in sizes for p in PAINTINGS}
    for position, scene in enumerate(scenes):
        if scene.truth is None:
            continue
        if position == 0:
            for size in sizes:  # compiles, allocates and warms caches before anything is timed
                for paint in PAINTINGS.values():
                    label_whole(*bare[size.network], scene.image, size, paint)
        # Every scene starts with another size, so that none always finds the caches as the largest left them.
        turns = list(tallies.items())
        start = position % len(turns)
        for (size, painting), tally in turns[start:] + turns[:start]:
            begun = clock()
            labels = label_whole(*bare[size.network], scene.image, size, PAINTINGS[painting])
            tally.costs.append((clock() - begun) * 1e3)
            tally.counts += metrics.count(scene.truth, labels, classes)
        if beside:
            beside(scene.image)
    return tuple(_faster([_point(s, p, tallies[s, p]) for p in PAINTINGS]) for s in sizes)


def label_whole(
    network: Network, head: Head, image: NDArray[np.uint8], rung: Rung, paint: Paint = labels_by_scores
) -> NDArray[np.int16]:
    """Label an image with one run of the network."""
    height, width = image.shape[:2]
    scores = network.scores(fit_to_frame(image, rung), head)
    return paint(scores, head.classes, (height, width))


def fit_to_frame(image: NDArray[np.uint8], rung: Rung) -> NDArray[np.uint8]:
    """Make the network's input from an image."""
    height, width = image.shape[:2]
    share = min(1.0, WORKING_LONG_SIDE / max(height, width))
    return fit(image, input_size(height, width, rung.scale * share, rung.squeeze))


def loss_whole(network: Network, head: Head, scene: Scene, rung: Rung) -> float:
    """Cross-entropy of the network's probabilities, enlarged to the image, over the pixels of known truth."""
    assert scene.truth is not None
    height, width = scene.truth.shape
    scores = network.scores(fit_to_frame(scene.image, rung), head)[..., : head.classes]
    enlarged = cv2.resize(scores, (width, height), interpolation=cv2.INTER_LINEAR)
    known = scene.truth >= 0
    rows = enlarged[known] - enlarged[known].max(axis=1, keepdims=True)
    held = np.take_along_axis(rows, scene.truth[known][:, None].astype(np.int64), axis=1)[:, 0]
    terms = np.log(np.exp(rows).sum(axis=1)) - held
    return float(np.minimum(terms, -np.log(BELIEF_FLOOR)).mean()) if len(terms) else 0.0


def scores_alone(name: str, points: Sequence[Point], networks: Networks, scenes: SceneList) -> Scores:
    """Some input sizes as one system: a point of its curve each, cheapest first. Its loss is of pixels."""
    ordered = sorted(points, key=lambda point: point.cost_ms)
    bare = _bare(networks)
    losses = [
        np.mean([loss_whole(*bare[point.rung.network], scene, point.rung) for scene in scenes])
        for point in ordered
    ]
    curve = Curve(
        np.array([point.cost_ms for point in ordered]),
        np.stack([point.counts for point in ordered]),
        np.array(losses),
    )
    last = slice(len(ordered) - 1, None)
    final = Curve(curve.cost[last], curve.counts[last], curve.loss[last])
    return Scores(name, False, curve, float(curve.cost[-1]), final)


def usual_sizes(network: str) -> tuple[Rung, ...]:
    """The usual input sizes of a network."""
    return tuple(replace(size, network=network) for size in SIZES)


def squeezed_sizes(sets: Iterable[str], network: str) -> tuple[Rung, ...]:
    """The squeezed input sizes of a network among some feature sets, each once."""
    sizes = dict.fromkeys(rung.unmirrored for rung in rungs_among(sets).values())
    return tuple(rung for rung in sizes if rung.squeeze != 1 and rung.network == network)


def networks_of(trained: TrainedModel) -> Networks:
    """The networks of a model whose heads score its classes, in its order."""
    found = {}
    for name in networks_among(trained.model.pool.sets):
        head, speaks = head_from_arrays(trained.features, len(trained.classes), name)
        if speaks:
            found[name] = Network(trained.graphs[name]), head
    return found


def _bare(networks: Networks) -> Networks:
    """The same with heads that have no embedding."""
    return {name: (network, head.first_rows(head.classes)) for name, (network, head) in networks.items()}


def _point(rung: Rung, painting: str, tally: _Tally) -> Point:
    counts = tally.counts
    scores = metrics.pixel_accuracy(counts), metrics.class_accuracy(counts), metrics.mean_iou(counts)
    return Point(rung, painting, float(np.median(tally.costs)), *scores, counts)


def _faster(candidates: Sequence[Point]) -> Point:
    good_enough = max(point.pixel for point in candidates) - TOLERANCE
    return min((p for p in candidates if p.pixel >= good_enough), key=lambda point: point.cost_ms)
