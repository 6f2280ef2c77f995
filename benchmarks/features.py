"""The bench `features`: the feature sets' speed, parity and predicted costs, and what they are good for."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from skimage.color import rgb2lab
from skimage.feature import local_binary_pattern

import anyscene
from anyscene.costs.measuring import calibrate, calibration_images, measure
from anyscene.costs.steps import CostModel
from anyscene.features import Bank, RegionFeatures, View, bank_from_arrays
from anyscene.features.hog import block_sums, hog_blocks
from anyscene.features.lbp import local_binary_patterns
from anyscene.features.ledger import Charge, Work
from anyscene.features.memory import keep_freed_memory
from anyscene.features.pooling import Grid, Map, Pooling, pool, sum_up
from anyscene.features.random_bank import random_bank
from anyscene.features.sift import dense_sift
from anyscene.hierarchy import LAYERS, Tree
from anyscene.threads import one_thread
from benchmarks.feature_usefulness import measure_usefulness
from benchmarks.figures import Bar, Figure, Request
from benchmarks.timing import interleave

SIZE = (480, 360)
IMAGES = 3
ROUNDS = 9
CHANNELS = 64

Image = NDArray[np.uint8]


def run(request: Request) -> Iterator[Figure]:
    """Measure on images of `request.data`, or on generated streets; usefulness needs data with truth."""
    keep_freed_memory()
    dataset = anyscene.data.open(request.data or "streets:")
    scenes = dataset.split(request.split or "val")
    images = [cv2.resize(scenes.image(index), SIZE) for index in range(min(IMAGES, len(scenes)))]
    yield from _lbp(images)
    yield from _sift(images)
    yield from _hog(images)
    yield _pooling(images[0])
    yield _first_layers(images[0])
    yield from _calibration()
    yield from measure_usefulness(request)


def _lbp(images: Sequence[Image]) -> Iterator[Figure]:
    greys = [View(image).shared("grey") for image in images]
    timings = interleave(
        {
            "anyscene": lambda: [local_binary_patterns(grey) for grey in greys],
            "scikit-image": lambda: [_their_patterns(grey) for grey in greys],
        },
        ROUNDS,
    )
    speedup = timings.speedup("anyscene", "scikit-image")
    parts = {"images": len(greys), "seconds": timings.medians()}
    yield Figure("lbp, times as fast as scikit-image", Bar("at least", 10), speedup, "x", parts)
    differing = sum(int((local_binary_patterns(grey) != _their_patterns(grey)).sum()) for grey in greys)
    yield Figure("lbp codes that differ from scikit-image's", Bar("at most", 0), differing)


def _their_patterns(grey: Image) -> NDArray[np.float64]:
    patterns: NDArray[np.float64] = local_binary_pattern(grey, 8, 1, method="uniform")
    return patterns


def _sift(images: Sequence[Image]) -> Iterator[Figure]:
    greys = [View(image).shared("grey") for image in images]
    rows, columns = SIZE[1] // 8, SIZE[0] // 8
    points = [cv2.KeyPoint(8 * x + 4, 8 * y + 4, 8 / 3, 0) for y in range(rows) for x in range(columns)]
    timings = interleave(
        {
            "anyscene": lambda: [dense_sift(grey) for grey in greys],
            "opencv": lambda: [_opencv_sift(grey, points) for grey in greys],
        },
        ROUNDS,
    )
    parts = {"images": len(greys), "descriptors": len(points), "seconds": timings.medians()}
    speedup = timings.speedup("anyscene", "opencv")
    yield Figure("sift, times as fast as opencv", Bar("at least", 8), speedup, "x", parts)
    correlations = []
    for grey in greys:
        ours, theirs = dense_sift(grey).reshape(-1, 128), _opencv_sift(grey, points)
        correlations.append(_row_correlations(ours, theirs))
    mean = float(np.concatenate(correlations).mean())
    yield Figure("sift, mean correlation with opencv's", Bar("at least", 0.9), mean)


def _opencv_sift(grey: Image, points: Sequence[cv2.KeyPoint]) -> NDArray[np.float32]:
    return np.asarray(cv2.SIFT_create().compute(grey, points)[1])  # type: ignore[attr-defined]


def _row_correlations(ours: NDArray[np.float32], theirs: NDArray[np.float32]) -> NDArray[np.float32]:
    ours, theirs = (rows - rows.mean(axis=1, keepdims=True) for rows in (ours, theirs))
    norms = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    return np.asarray((ours * theirs).sum(axis=1) / np.maximum(norms, 1e-9), np.float32)


def _hog(images: Sequence[Image]) -> Iterator[Figure]:
    speed, parity = "hog, time over opencv's", "hog, correlation with opencv's"
    if not hasattr(cv2, "HOGDescriptor"):
        reason = "needs opencv-contrib (make bench-env)"
        yield Figure(speed, Bar("at most", 1.5), None, skipped=reason)
        yield Figure(parity, Bar("at least", 0.95), None, skipped=reason)
        return
    descriptor = cv2.HOGDescriptor(SIZE, (16, 16), (8, 8), (8, 8), 9)
    views = [View(image) for image in images]
    greys = [view.shared("grey") for view in views]

    def ours(grey: Image) -> NDArray[np.float32]:
        view = View(np.repeat(grey[:, :, None], 3, axis=2))
        view.shared("grey")
        return hog_blocks(block_sums(*view.shared("gradient")))

    timings = interleave(
        {
            "anyscene": lambda: [ours(grey) for grey in greys],
            "opencv": lambda: [descriptor.compute(grey) for grey in greys],
        },
        ROUNDS,
    )
    parts = {"images": len(greys), "seconds": timings.medians()}
    yield Figure(speed, Bar("at most", 1.5), 1 / timings.speedup("anyscene", "opencv"), "x", parts)
    blocks = SIZE[0] // 8 - 1, SIZE[1] // 8 - 1
    correlations = [
        np.corrcoef(
            ours(grey)[1:-1, 1:-1].ravel(),
            descriptor.compute(grey).reshape(*blocks, 36).transpose(1, 0, 2).ravel(),
        )[0, 1]
        for grey in greys
    ]
    yield Figure(parity, Bar("at least", 0.95), float(np.mean(correlations)))


def _pooling(image: Image) -> Figure:
    """One map at full size onto the finest regions, and up all layers."""
    tree = Tree(image)
    tree.grow(LAYERS)
    rows, columns = (np.arange(side) // tree.stride for side in tree.size)
    labels = np.ascontiguousarray(tree.pixels[np.ix_(rows, columns)])
    counts = [len(areas) for areas in tree.areas]
    values = np.random.default_rng(0).random((*tree.size, CHANNELS), dtype=np.float32)
    whole = Map(values, stride=1)

    def ours() -> list[NDArray[np.float64]]:
        sums = [pool(whole, Pooling.MEAN, CHANNELS, Grid(labels, 1, counts[-1], tree.size)).sums]
        for layer in range(LAYERS - 1, 0, -1):
            sums.append(sum_up(np.ascontiguousarray(sums[-1]), tree.parents[layer], counts[layer - 1]))
        return sums

    def with_add_at() -> list[NDArray[np.float64]]:
        sums = [np.zeros((counts[-1], CHANNELS))]
        np.add.at(sums[0], labels.ravel(), values.reshape(-1, CHANNELS))
        for layer in range(LAYERS - 1, 0, -1):
            sums.append(np.zeros((counts[layer - 1], CHANNELS)))
            np.add.at(sums[-1], tree.parents[layer], sums[-2])
        return sums

    def with_scipy() -> list[NDArray[np.float64]]:
        channels = [
            ndimage.sum_labels(values[:, :, channel], labels, np.arange(counts[-1]))
            for channel in range(CHANNELS)
        ]
        sums = [np.stack(channels, axis=1)]
        for layer in range(LAYERS - 1, 0, -1):
            index, parents = np.arange(counts[layer - 1]), tree.parents[layer]
            above = [ndimage.sum_labels(sums[-1][:, channel], parents, index) for channel in range(CHANNELS)]
            sums.append(np.stack(above, axis=1))
        return sums

    for mine, theirs in zip(ours(), with_add_at(), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)
    timings = interleave({"anyscene": ours, "np.add.at": with_add_at, "scipy.ndimage": with_scipy}, 5)
    rival = min(("np.add.at", "scipy.ndimage"), key=timings.median)
    return Figure(
        "pooling 64 channels, times as fast as the faster of np.add.at and scipy.ndimage",
        Bar("at least", 8),
        timings.speedup("anyscene", rival),
        "x",
        {"regions": counts[-1], "rival": rival, "seconds": timings.medians()},
    )


def _first_layers(image: Image) -> Figure:
    """Colour and position on four layers, the tree included, against one conversion to Lab."""
    bank = bank_from_arrays(("color", "position"), {})

    def ours() -> None:
        tree = Tree(image)
        tree.grow(4)
        regions = RegionFeatures(bank, View(image), tree)
        for layer in range(4):
            regions.features("color", layer)
            regions.features("position", layer)

    timings = interleave({"anyscene": ours, "scikit-image": lambda: rgb2lab(image)}, 3 * ROUNDS)
    return Figure(
        "color and position on four layers, time over one Lab conversion by scikit-image",
        Bar("at most", 1 / 3),
        1 / timings.speedup("anyscene", "scikit-image"),
        "x",
        {"seconds": timings.medians()},
    )


def _calibration() -> Iterator[Figure]:
    """How well costs are predicted on generated scenes that were not measured for the calibration."""
    bank = random_bank(np.random.default_rng(0))
    with one_thread():
        begun = time.perf_counter()
        calibrate(bank, quick=True)
        quick_seconds = time.perf_counter() - begun
        begun = time.perf_counter()
        model = calibrate(bank)
        seconds = time.perf_counter() - begun
        held_out = calibration_images(2, seed=1)
        charges = [charge for _ in range(6) for charge in measure(bank, held_out)]
    errors = _cost_errors(model, bank, charges)
    worst = max(errors, key=lambda part: abs(errors[part]))
    yield Figure(
        "largest error of a predicted cost against the median measured",
        Bar("at most", 0.15),
        abs(errors[worst]),
        parts={"worst": worst, "errors": errors},
    )
    below = [charge.ms <= _predict(model, charge.work)[1] for charge in charges]
    yield Figure(
        "costs below the high prediction",
        Bar("at least", 0.95),
        float(np.mean(below)),
        parts={"charges": len(below)},
    )
    yield Figure("full calibration", Bar("at most", 60), seconds, "s")
    yield Figure("quick calibration", Bar("at most", 10), quick_seconds, "s")


def _cost_errors(model: CostModel, bank: Bank, charges: Sequence[Charge]) -> dict[str, float]:
    """Relative error of the cost of each set (its own map, pooling and finishing), shared map and layer.

    Costs of equal size are compared by their median, and added up over what one image of each size needs:
    that is what a decision to use a set rests on. What costs less than 0.02 ms is left out.
    """
    by_work: dict[Work, list[float]] = defaultdict(list)
    for charge in charges:
        by_work[charge.work].append(charge.ms)
    predicted: dict[str, float] = defaultdict(float)
    measured: dict[str, float] = defaultdict(float)
    for work, times in by_work.items():
        part = _part(work, bank)
        predicted[part] += _predict(model, work)[0] * len(times)
        measured[part] += statistics.median(times) * len(times)
    runs = {part: sum(_part(charge.work, bank) == part for charge in charges) for part in measured}
    return {
        part: predicted[part] / measured[part] - 1 for part in measured if measured[part] / runs[part] >= 0.02
    }


def _part(work: Work, bank: Bank) -> str:
    kind, _, name = work.step.partition(":")
    return name if name in bank and kind != "shared" else work.step


def _predict(model: CostModel, work: Work) -> tuple[float, float]:
    return model.predict(work.step, work.pixels, work.regions)
