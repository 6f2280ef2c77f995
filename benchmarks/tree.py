"""The bench `tree`: growing trees against Felzenszwalb-Huttenlocher by scikit-image and by OpenCV."""

from __future__ import annotations

import math
import multiprocessing
import resource
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene import metrics
from anyscene.data import SceneList
from anyscene.data import open as open_data
from anyscene.data.splits import evenly_spread
from anyscene.errors import ConfigError
from anyscene.hierarchy import LAYERS, Tree, warm_up, working_frame
from benchmarks.figures import Bar, Figure, Request, missing
from benchmarks.timing import interleave

TIMED_SCENES, ROUNDS = 8, 5
FIRST_LAYERS = 4

SCORED_SCENES, SCORED_PIXELS = 100, 8_000_000
"""The most scenes, and the most pixels, that achievable accuracy is compared on: scikit-image is slow."""

COARSER_LAYERS = {4: 100, 5: 300, 6: 800}
"""Layers whose achievable accuracy is compared, and about how many regions they have at 480x360."""

SIGMA, SMALLEST = 0.8, 20
"""The smoothing and the smallest region that scikit-image has by default."""

SMALLEST_SHARE = 8
"""The smallest region is at least this fraction of the mean one, which serves scikit-image far better."""

COUNT_TOLERANCE = 0.03

TILE, TILES = (274, 365), 10
"""The size of an image of 0.1 megapixels, and how many in each direction make one of 10 megapixels."""

Image = NDArray[np.uint8]
Regions = NDArray[np.int32]


def run(request: Request) -> Iterator[Figure]:
    """Measure on scenes of `request.data`, in their working frames."""
    if request.data is None:
        raise ConfigError("bench tree needs a data set, such as --data camvid:PATH")
    dataset = open_data(request.data)
    scenes = dataset.split(request.split or "val")
    warm_up()
    yield from _speed(scenes)
    yield from _achievable(scenes, len(dataset.classes))
    yield _growth(scenes)
    yield _memory(scenes)


def _speed(scenes: SceneList) -> Iterator[Figure]:
    bars = {
        ("all layers", "scikit-image"): 12,
        (f"first {FIRST_LAYERS} layers", "scikit-image"): 150,
        ("all layers", "OpenCV"): 5,
    }
    names = {pair: f"{pair[0]}, times as fast as one call of {pair[1]}" for pair in bars}
    lacking = missing("skimage") or (None if _contrib() else "needs opencv-contrib (make bench-env)")
    if lacking:
        for pair, bar in bars.items():
            yield Figure(names[pair], Bar("at least", bar), None, skipped=lacking)
        return
    speedups: dict[tuple[str, str], list[float]] = {pair: [] for pair in bars}
    parts = []
    search = _ScaleSearch()
    for index in evenly_spread(len(scenes), TIMED_SCENES):
        image = working_frame(scenes.image(index))
        count = len(_grow(image, LAYERS).areas[-1])
        scale, regions = search(image, count)
        smallest = _smallest(image, count)
        segmenter = _contrib().segmentation.createGraphSegmentation(SIGMA, scale, smallest)
        timings = interleave(
            {
                "all layers": partial(_grow, image, LAYERS),
                f"first {FIRST_LAYERS} layers": partial(_grow, image, FIRST_LAYERS),
                "scikit-image": partial(_felzenszwalb, image, scale, smallest),
                "OpenCV": partial(segmenter.processImage, image),
            },
            ROUNDS,
        )
        for pair, measured in speedups.items():
            measured.append(timings.speedup(*pair))
        parts.append(
            {
                "scene": scenes.ids[index],
                "scale": scale,
                "regions": {
                    "anyscene": count,
                    "scikit-image": int(regions.max()) + 1,
                    "OpenCV": int(segmenter.processImage(image).max()) + 1,
                },
                "seconds": timings.medians(),
            }
        )
    for pair, bar in bars.items():
        shown = {"speedups": speedups[pair], "rounds": ROUNDS, "scenes": parts}
        yield Figure(names[pair], Bar("at least", bar), median(speedups[pair]), unit="x", parts=shown)


def _achievable(scenes: SceneList, n_classes: int) -> Iterator[Figure]:
    """How much lower than scikit-image's our achievable accuracy is at the same number of regions."""
    finest = LAYERS - 1
    names = {
        layer: f"pixel accuracy lost at about {count} regions" for layer, count in COARSER_LAYERS.items()
    }
    names[finest] = "pixel accuracy lost at the finest layer"
    iou_name = "mIoU lost at the finest layer"
    bars = {layer: Bar("at most", 0.2 if layer == finest else 1.0) for layer in names}
    if lacking := missing("skimage"):
        for layer, name in names.items():
            yield Figure(name, bars[layer], None, unit="points", skipped=lacking)
        yield Figure(iou_name, Bar("at most", 1.0), None, unit="points", skipped=lacking)
        return

    height, width = working_frame(scenes.image(0)).shape[:2]
    chosen = evenly_spread(len(scenes), min(SCORED_SCENES, max(1, SCORED_PIXELS // (height * width))))
    ours = {layer: np.zeros((n_classes, n_classes + 1), np.int64) for layer in names}
    theirs = {layer: counts.copy() for layer, counts in ours.items()}
    regions: dict[int, list[tuple[int, int]]] = {layer: [] for layer in names}
    searches = {layer: _ScaleSearch() for layer in names}
    for index in chosen:
        scene = scenes[index]
        if scene.truth is None:
            continue
        image = working_frame(scene.image)
        tree = _grow(image, LAYERS)
        for layer in names:
            count = len(tree.areas[layer])
            _, rival = searches[layer](image, count)
            _add_best(ours[layer], _full_size(_frame_map(tree, layer), scene.truth), scene.truth)
            _add_best(theirs[layer], _full_size(rival, scene.truth), scene.truth)
            regions[layer].append((count, int(rival.max()) + 1))
    for layer, name in names.items():
        found = np.mean(regions[layer], axis=0)
        accuracy = _compare(metrics.pixel_accuracy, ours[layer], theirs[layer])
        iou = _compare(metrics.mean_iou, ours[layer], theirs[layer])
        parts = {
            "scenes": len(regions[layer]),
            "regions": {"anyscene": found[0], "scikit-image": found[1]},
            "pixel accuracy": accuracy,
            "mIoU": iou,
        }
        yield Figure(name, bars[layer], accuracy["points lost"], unit="points", parts=parts)
        if layer == finest:
            yield Figure(iou_name, Bar("at most", 1.0), iou["points lost"], unit="points", parts=parts)


def _growth(scenes: SceneList) -> Figure:
    """Time per pixel of one large image against that of the small ones that it is a mosaic of."""
    tiles, mosaic = _mosaic(scenes)
    timings = interleave(
        {
            "0.1 megapixels": lambda: [_grow(tile, LAYERS) for tile in tiles],
            "10 megapixels": lambda: _grow(mosaic, LAYERS),
        },
        ROUNDS,
    )
    return Figure(
        "time per pixel at 10 megapixels against 0.1",
        Bar("at most", 1.3),
        timings.speedup("0.1 megapixels", "10 megapixels"),
        unit="x",
        parts={
            "nanoseconds per pixel": {n: t / mosaic[..., 0].size * 1e9 for n, t in timings.medians().items()}
        },
    )


def _memory(scenes: SceneList) -> Figure:
    """Memory that growing a tree takes at its peak, image not counted; seen from outside the allocators."""
    name, bar, unit = "memory at the peak", Bar("at most", 40), "bytes a pixel"
    if not Path("/proc/self/statm").exists():
        return Figure(name, bar, None, unit=unit, skipped="needs Linux's /proc")
    _, mosaic = _mosaic(scenes)
    # A process of its own: peaks never fall, and this one has seen scikit-image's.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        peak = pool.submit(_peak_bytes, mosaic).result()
    pixels = mosaic[..., 0].size
    return Figure(name, bar, peak / pixels, unit=unit, parts={"bytes": peak, "megapixels": pixels / 1e6})


def _peak_bytes(image: Image) -> int:
    warm_up()
    resident_pages = int(Path("/proc/self/statm").read_text().split()[1])
    _grow(image, LAYERS)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - resident_pages * resource.getpagesize()


def _grow(image: Image, depth: int) -> Tree:
    tree = Tree(image)
    tree.grow(depth)
    _ = tree.pixels  # made when first asked for; a partition without it would be half the work
    return tree


def _frame_map(tree: Tree, layer: int) -> Regions:
    stride, (height, width) = tree.strides[layer], tree.size
    return tree.region_map(layer).repeat(stride, 0).repeat(stride, 1)[:height, :width]


def _felzenszwalb(image: Image, scale: float, smallest: int) -> Regions:
    from skimage.segmentation import felzenszwalb

    return np.asarray(felzenszwalb(image, scale=scale, sigma=SIGMA, min_size=smallest), np.int32)


def _smallest(image: Image, count: int) -> int:
    return max(SMALLEST, image[..., 0].size // (count * SMALLEST_SHARE))


def _contrib() -> Any:
    """The module of opencv-contrib that holds graph segmentation, or None."""
    return getattr(cv2, "ximgproc", None)


class _ScaleSearch:
    """Finds the scale at which scikit-image makes a wanted number of regions, starting from its last find."""

    def __init__(self) -> None:
        self._scale = 50.0

    def __call__(self, image: Image, count: int, calls: int = 12) -> tuple[float, Regions]:
        smallest = _smallest(image, count)
        low, high = 0.01, 1e6  # scales that give too many, too few
        scale = self._scale
        best: tuple[float, float, Regions] | None = None
        for _ in range(calls):
            regions = _felzenszwalb(image, scale, smallest)
            found = int(regions.max()) + 1
            error = abs(math.log(found / count))
            if best is None or error < best[0]:
                best = error, scale, regions
            if error <= COUNT_TOLERANCE:
                break
            low, high = (scale, high) if found > count else (low, scale)
            # Counts fall more slowly than scales rise; a guess that leaves the bracket halves it instead.
            scale *= (found / count) ** 1.5
            if not low < scale < high:
                scale = math.sqrt(low * high)
        assert best is not None
        self._scale = best[1]
        return best[1], best[2]


def _add_best(counts: metrics.Counts, regions: Regions, truth: NDArray[np.int16]) -> None:
    """Count the labeling that gives every region the class that most of its pixels have."""
    n_classes = len(counts)
    known = truth >= 0
    cells = regions[known] * n_classes + truth[known]
    votes = np.bincount(cells, minlength=(int(regions.max()) + 1) * n_classes).reshape(-1, n_classes)
    counts += metrics.count(truth, votes.argmax(axis=1).astype(np.int16)[regions], n_classes)


def _full_size(regions: Regions, truth: NDArray[np.int16]) -> Regions:
    """Regions of the working frame at the size of the truth."""
    rows, columns = (
        np.arange(size) * frame // size for size, frame in zip(truth.shape, regions.shape, strict=True)
    )
    return regions[np.ix_(rows, columns)]


def _compare(
    score: Callable[[metrics.Counts], float], ours: metrics.Counts, theirs: metrics.Counts
) -> dict[str, float]:
    own, rival = score(ours), score(theirs)
    return {"anyscene": own, "scikit-image": rival, "points lost": 100 * (rival - own)}


def _mosaic(scenes: SceneList) -> tuple[list[Image], Image]:
    """Small images made of the scenes, and the large one that they form together."""
    tiles = []
    for index in evenly_spread(len(scenes), TILES**2):
        image = scenes.image(index)
        repeats = [-(-side // size) for side, size in zip(TILE, image.shape, strict=False)]
        tiles.append(np.ascontiguousarray(np.tile(image, (*repeats, 1))[: TILE[0], : TILE[1]]))
    tiles = [tiles[number % len(tiles)] for number in range(TILES**2)]
    rows = [np.concatenate(tiles[start : start + TILES], axis=1) for start in range(0, TILES**2, TILES)]
    return tiles, np.concatenate(rows, axis=0)
