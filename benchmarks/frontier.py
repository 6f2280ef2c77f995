"""The bench `frontier`: the network run whole at fixed input sizes, on held-out images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from anyscene import metrics
from anyscene.data import DataSet, SceneList
from anyscene.data import open as open_data
from anyscene.errors import ConfigError
from anyscene.evaluation.network_alone import Point, fit_to_frame, measure_network_alone
from anyscene.features.hypercolumn.backbone import MAIN, Backbone, read_backbone, shipped_backbone
from anyscene.features.hypercolumn.image_keys import image_key
from anyscene.features.hypercolumn.network import Head, Network
from anyscene.features.hypercolumn.rung import NETWORK, Rung
from anyscene.painting.cells import labels_by_scores
from benchmarks.figures import Bar, Figure, Report, Request, missing
from benchmarks.frontier_plot import plot_frontier
from benchmarks.timing import interleave

FULL_BARS = {
    "camvid": {"pixel": 0.92, "class": 0.78, "iou": 0.66},
    "stanford": {"pixel": 0.865, "iou": 0.69},
    "siftflow": {"pixel": 0.85, "iou": 0.37},
}
SMALLER_BARS = {"camvid": {0.5: {"pixel": 0.91, "iou": 0.62}, 0.25: {"pixel": 0.88, "iou": 0.53}}}
CROSS_FIT_SIZES = (Rung(0.25), Rung(0.5), Rung(1.0))
CROSS_FIT = (("a", "b"), ("b", "a"))
SIZES = "frontier: input sizes measured"


@dataclass(frozen=True, eq=False)
class _Subject:
    """What is measured: a data set, and a backbone that has a head for it."""

    kind: str
    dataset: DataSet
    backbone: Backbone

    def network(self, part: str) -> tuple[Network, Head]:
        return Network(self.backbone.graphs[part]), self.backbone.heads[part, self.kind].first_rows(0)


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
    points = measure_network_alone({NETWORK: subject.network(MAIN)}, scenes)
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
    yield from _against_torch(subject, scenes)


def draw(report: Report, path: Path) -> None:
    """Draw the frontier of a report."""
    sizes = next(figure for figure in report.figures if figure.name == SIZES)
    plot_frontier(sizes.parts["points"], f"The network at fixed input sizes, {sizes.parts['split']}", path)


def _quality(subject: _Subject, points: Sequence[Point]) -> Iterator[Figure]:
    wanted = {1.0: FULL_BARS.get(subject.kind, {}), **SMALLER_BARS.get(subject.kind, {})}
    for point in points:
        for score, bar in wanted.get(point.rung.scale, {}).items():
            yield Figure(
                f"{subject.kind} at {point.rung.scale:g} of the frame: {score}",
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
    points = measure_network_alone({NETWORK: subject.network(fitted)}, scenes, CROSS_FIT_SIZES)
    full = points[-1]
    parts = {"points": [_plain(point) for point in points], "classes": _per_class(full, subject)}
    return Figure(name, None, full.pixel, parts=parts)


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

    network, head = subject.network(MAIN)
    graph = subject.backbone.graphs[MAIN]
    rival, quicker = torch_scores(graph, head), torch_scores(graph, head, torch.channels_last)
    few = range(0, len(scenes), max(1, len(scenes) // 10))
    images = [fit_to_frame(scenes.image(index), Rung(1.0)) for index in few]
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
    return {"scale": point.rung.scale, "cost_ms": point.cost_ms, "painting": point.painting, **_scores(point)}


def _per_class(point: Point, subject: _Subject) -> dict[str, float | None]:
    table = metrics.per_class(point.counts, subject.dataset.classes)
    return {score.name: None if np.isnan(score.iou) else score.iou for score in table}
