"""The bench `metrics`: how long counting and scoring label maps takes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix

import anyscene
from anyscene import metrics
from benchmarks.figures import Bar, Figure, Request
from benchmarks.timing import interleave

IMAGES, HEIGHT, WIDTH, CLASSES = 233, 360, 480, 11  # the official CamVid test set's

Maps = list[tuple[NDArray[np.int16], NDArray[np.int16]]]


def run(request: Request) -> Iterator[Figure]:
    """Measure on the truth of `request.data`, or on generated maps of CamVid's test set's number and size."""
    rng = np.random.default_rng(0)
    if request.data:
        truths, n_classes = _given_truths(request.data, request.split or "all")
    else:
        truths, n_classes = _generated_truths(rng), CLASSES
    maps = [(truth, _with_mistakes(truth, n_classes, rng)) for truth in truths]
    pixels = sum(truth.size for truth in truths)

    # scikit-learn is slow enough for a few maps to tell.
    few = maps[:3]
    timings = interleave(
        {
            "all maps": lambda: _score(maps, n_classes),
            "anyscene": lambda: _count(few, n_classes),
            "scikit-learn": lambda: _count_with_sklearn(few, n_classes),
        },
        rounds=5,
    )
    seconds = timings.median("all maps")
    yield Figure(
        "metric time, 233 images of 480x360",
        Bar("at most", 1.0),
        seconds * IMAGES * HEIGHT * WIDTH / pixels,
        unit="s",
        parts={"images": len(maps), "megapixels": pixels / 1e6, "seconds": seconds},
    )
    yield Figure(
        "counting, times as fast as scikit-learn",
        Bar("at least", 10.0),
        timings.speedup("anyscene", "scikit-learn"),
        unit="x",
        parts={"images": len(few), "seconds": timings.medians()},
    )
    differing = _count(few, n_classes)[:, :n_classes] != _count_with_sklearn(few, n_classes)
    yield Figure("cells that differ from scikit-learn's", Bar("at most", 0), int(differing.sum()))


def _given_truths(spec: str, split: str) -> tuple[list[NDArray[np.int16]], int]:
    dataset = anyscene.data.open(spec)
    scenes = dataset.split(split)
    truths = (scenes.truth(index) for index in range(min(len(scenes), IMAGES)))
    return [truth for truth in truths if truth is not None], len(dataset.classes)


def _generated_truths(rng: np.random.Generator) -> list[NDArray[np.int16]]:
    """Maps of 20-pixel squares: as in real ones, a pixel's class is mostly that of its neighbour."""
    side = 20
    shape = (IMAGES, HEIGHT // side, WIDTH // side)
    squares = rng.integers(-1, CLASSES, shape, dtype=np.int16)
    return list(squares.repeat(side, axis=1).repeat(side, axis=2))


def _with_mistakes(truth: NDArray[np.int16], n_classes: int, rng: np.random.Generator) -> NDArray[np.int16]:
    """The truth with a tenth of its pixels labeled at random, void among them."""
    guess = rng.integers(0, n_classes, truth.shape, dtype=np.int16)
    return np.where((rng.random(truth.shape) < 0.1) | (truth < 0), guess, truth)


def _count(maps: Maps, n_classes: int) -> metrics.Counts:
    total = np.zeros((n_classes, n_classes + 1), np.int64)
    for truth, labels in maps:
        total += metrics.count(truth, labels, n_classes)
    return total


def _score(maps: Maps, n_classes: int) -> tuple[float, float, float]:
    counts = _count(maps, n_classes)
    return metrics.pixel_accuracy(counts), metrics.class_accuracy(counts), metrics.mean_iou(counts)


def _count_with_sklearn(maps: Maps, n_classes: int) -> NDArray[np.int64]:
    total = np.zeros((n_classes, n_classes), np.int64)
    for truth, labels in maps:
        known = truth >= 0
        total += confusion_matrix(truth[known], labels[known], labels=range(n_classes))
    return total
