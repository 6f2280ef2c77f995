"""`bench frontier`: the network run whole at fixed input sizes, on held-out images."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyscene import metrics
from anyscene.benchmarks.figures import Bar, Figure, Report, Request, missing
from anyscene.benchmarks.timing import interleave
from anyscene.data import DataSet, SceneList
from anyscene.data import open as open_data
from anyscene.errors import ConfigError
from anyscene.evaluation.frontier import Point, fit_to_frame, label_crop, label_whole, measure_frontier
from anyscene.evaluation.plots import plot_frontier
from anyscene.features.hypercolumn.backbone import MAIN, Backbone, read_backbone, shipped_backbone
from anyscene.features.hypercolumn.crops import Crop, best_crops, reading
from anyscene.features.hypercolumn.keys import image_key
from anyscene.features.hypercolumn.labels import labels_by_scores
from anyscene.features.hypercolumn.network import Head, Network, input_size
from anyscene.hierarchy import WORKING_LONG_SIDE

FULL_BARS = {
    "camvid": {"pixel": 0.92, "class": 0.78, "iou": 0.66},
    "stanford": {"pixel": 0.865, "iou": 0.69},
    "siftflow": {"pixel": 0.85, "iou": 0.37},
}
SMALLER_BARS = {"camvid": {0.5: {"pixel": 0.91, "iou": 0.62}, 0.25: {"pixel": 0.88, "iou": 0.53}}}
CROSS_FIT_SIZES = ((0.25, 1.0), (0.5, 1.0), (1.0, 1.0))
CROSS_FIT = (("a", "b"), ("b", "a"))
CROPS = ((0.5, 1, 0.75), (0.75, 1, 0.75), (1.0, 1, 0.75), (1.0, 2, 0.5), (1.0, 1, 0.9))
"""Scale, how many crops, and the largest cost of each relative to a whole run.

Frames as small as SIFT Flow's have none that is cheaper than the last.
"""

CROP_SCENES = 100
SIZES = "frontier: input sizes measured"


@dataclass(frozen=True, eq=False)
class _Subject:
    """What is measured: a data set, and a backbone that has a head for it."""

    kind: str
    dataset: DataSet
    backbone: Backbone

    def network(self, part: str) -> Network:
        return Network(self.backbone.graphs[part])

    def head(self, part: str) -> Head:
        head = self.backbone.heads[part, self.kind]
        return Head(head.weight[: head.classes], head.bias[: head.classes], head.classes)


def run(request: Request) -> Iterator[Figure]:
    """Measure the frontier on `request.data`; for CamVid also the halves that judge each other."""
    if request.data is None:
        raise ConfigError("bench frontier needs a data set, such as --data camvid:PATH")
    kind = request.data.split(":", 1)[0]
    backbone = read_backbone(Path(request.model) if request.model else shipped_backbone(kind))
    if kind not in backbone.classes:
        raise ConfigError(f"the backbone has no head for {kind}; it has {', '.join(backbone.classes)}")
    subject = _Subject(kind, open_data(request.data), backbone)
    split = request.split or "val"
    given = subject.dataset.split(split)
    scenes = _unseen(given, backbone)
    points = measure_frontier(subject.network(MAIN), subject.head(MAIN), scenes)
    yield from _quality(subject, points)
    yield Figure(
        SIZES,
        Bar("at least", 8),
        len(points),
        parts={
            "points": [_plain(point) for point in points],
            "split": split,
            "images": len(scenes),
            "images left out, since the backbone has seen them": len(given) - len(scenes),
        },
    )
    for fitted, judged in CROSS_FIT:
        yield _cross_fit(subject, fitted, judged)
    yield from _crops(subject, scenes)
    yield from _against_torch(subject, scenes)


def draw(report: Report, path: Path) -> None:
    """Draw the frontier of a report."""
    sizes = next(figure for figure in report.figures if figure.name == SIZES)
    plot_frontier(sizes.parts["points"], f"The network at fixed input sizes, {sizes.parts['split']}", path)


def _quality(subject: _Subject, points: Sequence[Point]) -> Iterator[Figure]:
    wanted = {1.0: FULL_BARS.get(subject.kind, {}), **SMALLER_BARS.get(subject.kind, {})}
    for point in points:
        for score, bar in wanted.get(point.size[0], {}).items():
            yield Figure(
                f"{subject.kind} at {point.size[0]:g} of the frame: {score}",
                Bar("at least", bar),
                _scores(point)[score],
                parts=_plain(point) | {"classes": _per_class(point, subject)},
            )


def _cross_fit(subject: _Subject, fitted: str, judged: str) -> Figure:
    name = f"cross-fit: pixel accuracy of the half {fitted} on {judged}, full size"
    if fitted not in subject.backbone.graphs:
        return Figure(name, None, None, skipped=f"the backbone has no part '{fitted}'")
    if judged not in subject.dataset.splits:
        return Figure(name, None, None, skipped=f"the data set has no split '{judged}'")
    scenes = subject.dataset.split(judged)
    points = measure_frontier(subject.network(fitted), subject.head(fitted), scenes, CROSS_FIT_SIZES)
    full = points[-1]
    parts = {"points": [_plain(point) for point in points], "classes": _per_class(full, subject)}
    return Figure(name, None, full.pixel, parts=parts)


@dataclass(eq=False)
class _CropTally:
    """Labels inside crops against those of whole runs, and what both cost; lists have one entry an image."""

    whole: NDArray[np.int64]
    crop: NDArray[np.int64]
    same: int = 0
    pixels: int = 0
    kept: list[float] = field(default_factory=list)
    read: list[float] = field(default_factory=list)
    held: list[float] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)


def _crops(subject: _Subject, scenes: SceneList) -> Iterator[Figure]:
    """Compare the labels inside the most doubtful crops with those of the whole run."""
    network, head = subject.network(MAIN), subject.head(MAIN)
    counts = np.zeros((head.classes, head.classes + 1), np.int64)
    tallies = {kind: _CropTally(counts.copy(), counts.copy()) for kind in CROPS}
    for index in range(0, len(scenes), max(1, len(scenes) // CROP_SCENES)):
        scene = scenes[index]
        if scene.truth is None or max(scene.image.shape[:2]) > WORKING_LONG_SIDE:
            continue  # crops are made of the working frame; larger images would be compared at two scales
        doubt = _doubt(network, head, scene.image)
        for (scale, count, largest), tally in tallies.items():
            crops = best_crops(doubt, scene.truth.shape, scale, largest, count)
            _tally_crops(network, head, scene.image, scene.truth, scale, crops, tally)
    for (scale, count, largest), tally in tallies.items():
        number = "one crop" if count == 1 else f"{count} crops"
        yield from _crop_figures(f"{number} of at most {largest:g} of the cost at {scale:g}", tally)


def _tally_crops(
    network: Network,
    head: Head,
    image: NDArray[np.uint8],
    truth: NDArray[np.int16],
    scale: float,
    crops: Sequence[Crop],
    tally: _CropTally,
) -> None:
    if not crops:
        return
    begun = time.perf_counter()
    whole = label_whole(network, head, image, (scale, 1.0))
    midway = time.perf_counter()
    made = [label_crop(network, head, image, crop.rect, scale) for crop in crops]
    ended = time.perf_counter()
    frame = image.shape[0], image.shape[1]
    for crop, labels in zip(crops, made, strict=True):
        rect = np.s_[crop.rect.top : crop.rect.bottom, crop.rect.left : crop.rect.right]
        tally.same += int((labels == whole[rect]).sum())
        tally.pixels += labels.size
        tally.whole += metrics.count(truth[rect], whole[rect], head.classes)
        tally.crop += metrics.count(truth[rect], labels, head.classes)
    height, width = input_size(*frame, scale)
    tally.kept.append(sum(crop.rect.area for crop in crops) / truth.size)
    tally.read.append(sum(reading(crop.rect, frame, scale).read.area for crop in crops) / (height * width))
    tally.held.append(sum(crop.held for crop in crops))
    tally.cost.append((ended - midway) / (midway - begun))


def _crop_figures(what: str, tally: _CropTally) -> Iterator[Figure]:
    same_name, loss_name = f"{what}: labels equal to the whole run's", f"{what}: accuracy lost inside"
    if not tally.pixels:
        reason = "on these images no crop is cheap enough beside its margin"
        yield Figure(same_name, Bar("at least", 0.98), None, skipped=reason)
        yield Figure(loss_name, Bar("at most", 0.2), None, skipped=reason)
        return
    before, after = metrics.pixel_accuracy(tally.whole), metrics.pixel_accuracy(tally.crop)
    parts = {
        "images": len(tally.held),
        "pixel accuracy": {"whole": before, "crop": after},
        "share of the frame labelled": float(np.mean(tally.kept)),
        "share of the frame read": float(np.mean(tally.read)),
        "share of the most doubtful fifth held": float(np.mean(tally.held)),
        "time against a whole run": float(np.median(tally.cost)),
    }
    yield Figure(same_name, Bar("at least", 0.98), tally.same / tally.pixels, parts=parts)
    yield Figure(loss_name, Bar("at most", 0.2), 100 * (before - after), unit="points", parts=parts)


def _against_torch(subject: _Subject, scenes: SceneList) -> Iterator[Figure]:
    time_name = "ONNX Runtime's time against torch's, full size"
    quicker_name = "the same against torch in its quicker layout (channels last)"
    same_name = "labels equal to torch's"
    if reason := missing("torch"):
        yield Figure(time_name, Bar("at most", 0.6), None, skipped=reason)
        yield Figure(same_name, Bar("at least", 0.999), None, skipped=reason)
        return
    import torch

    from anyscene.learning.backbone.rebuild import torch_scores

    network, head = subject.network(MAIN), subject.head(MAIN)
    graph = subject.backbone.graphs[MAIN]
    rival, quicker = torch_scores(graph, head), torch_scores(graph, head, torch.channels_last)
    few = range(0, len(scenes), max(1, len(scenes) // 10))
    images = [fit_to_frame(scenes.image(index), (1.0, 1.0)) for index in few]
    timings = interleave(
        {
            "onnxruntime": lambda: network.scores(images[0], head),
            "torch": lambda: rival(images[0]),
            "torch, channels last": lambda: quicker(images[0]),
        },
        rounds=15,
    )
    ratios = [1 / timings.speedup("onnxruntime", other) for other in ("torch", "torch, channels last")]
    yield Figure(time_name, Bar("at most", 0.6), ratios[0], parts={"seconds": timings.medians()})
    yield Figure(quicker_name, None, ratios[1])
    agree = [
        labels_by_scores(network.scores(image, head), head.classes, image.shape[:2])
        == labels_by_scores(rival(image), head.classes, image.shape[:2])
        for image in images
    ]
    shares = [float(same.mean()) for same in agree]
    yield Figure(same_name, Bar("at least", 0.999), float(np.mean(shares)), parts={"images": len(images)})


def _doubt(network: Network, head: Head, image: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The entropy of a cheap run's probabilities where it is highest, on a fifth: where to look closer."""
    scores = network.scores(fit_to_frame(image, (0.25, 1.0)), head)
    chances = np.exp(scores - scores.max(axis=2, keepdims=True))
    chances /= chances.sum(axis=2, keepdims=True)
    entropy = -(chances * np.log(chances + 1e-9)).sum(axis=2)
    return np.where(entropy >= np.quantile(entropy, 0.8), entropy, 0).astype(np.float32)


def _unseen(scenes: SceneList, backbone: Backbone) -> SceneList:
    """The scenes that the backbone was not fitted to; data sets hold the odd image twice."""
    new = [i for i in range(len(scenes)) if image_key(scenes.image(i)) not in backbone.seen[MAIN]]
    if not new:
        raise ConfigError(
            f"the backbone was fitted to all of these {len(scenes)} images; "
            "a figure on them would mean nothing: choose a split that it has not seen"
        )
    return scenes.pick(new)


def _scores(point: Point) -> dict[str, float]:
    return {"pixel": point.pixel, "class": point.class_mean, "iou": point.iou}


def _plain(point: Point) -> dict[str, float | str]:
    return {"scale": point.size[0], "cost_ms": point.cost_ms, "painting": point.painting, **_scores(point)}


def _per_class(point: Point, subject: _Subject) -> dict[str, float | None]:
    table = metrics.per_class(point.counts, subject.dataset.classes)
    return {score.name: None if np.isnan(score.iou) else score.iou for score in table}
