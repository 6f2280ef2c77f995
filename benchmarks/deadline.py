"""The bench `deadline`: are deadlines held, and what is an answer on time worth?"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anyscene import metrics
from anyscene.costs.deadline import DETAIL
from anyscene.data import SceneList
from anyscene.data import open as open_data
from anyscene.engine import Engine, load
from anyscene.labeling import Labeling
from benchmarks.figures import Bar, Figure, Request

BUDGETS = (2, 5, 10, 20, 50, 100, 200)
IMAGES = 200
COMPARED = (10, 20, 50, 100)
"""Budgets at which accuracy by the clock is compared with the predicted curve at a fifth less."""

CALIBRATED = (10, 50, None)
PHOTO, PHOTO_BUDGET, PHOTO_CALLS = (3000, 4000), 100.0, 20
BINS = 15

Image = NDArray[np.uint8]


def run(request: Request) -> Iterator[Figure]:
    """Measure on the scenes of `request.data` (generated streets without it) with `request.model`."""
    engine = load(request.model or "camvid")
    scenes = scenes_of(request)
    images = [scenes.image(index % len(scenes)) for index in range(min(IMAGES, 4 * len(scenes)))]
    yield _late_calls("calls over budget", engine, images, Bar("at most", 0.02))
    with _another_process_busy():
        yield _late_calls("calls over budget, another process busy", engine, images, Bar("at most", 0.05))
    yield _large_photo(engine, images[0])
    if request.data is None:
        why = "needs --data with the model's classes"
        yield Figure("accuracy on the clock below the foretold curve", Bar("at most", 0.1), None, skipped=why)
        yield Figure("expected calibration error", Bar("at most", 0.03), None, skipped=why)
        return
    yield _against_the_curve(engine, scenes)
    yield _calibration_error(engine, scenes)


def scenes_of(request: Request) -> SceneList:
    """Return the scenes that were asked for; generated streets if none were."""
    if request.data is None:
        return open_data("streets:200?size=480x360").split("all")
    return open_data(request.data).split(request.split or "val")


def is_late(ms: float, budget: float) -> bool:
    """Tell whether a call took longer than its budget by more than 5 %, or half a millisecond."""
    return ms > budget + max(0.05 * budget, 0.5)


def _late_calls(name: str, engine: Engine, images: Sequence[Image], bar: Bar) -> Figure:
    """The largest share of late calls at any budget."""
    for image in images[:5]:
        engine.label(image, 50)
    late, spent = {}, {}
    for budget in BUDGETS:
        ms = [engine.label(image, budget).cost for image in images]  # the rest is let go, its memory reused
        late[f"{budget} ms"] = float(np.mean([is_late(each, budget) for each in ms]))
        spent[f"{budget} ms"] = float(np.median(ms))
    parts = {"share late": late, "median ms": spent, "images": len(images)}
    return Figure(name, bar, max(late.values()), parts=parts)


@contextmanager
def _another_process_busy() -> Iterator[None]:
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        other.kill()
        other.wait()


def _large_photo(engine: Engine, image: Image) -> Figure:
    """Calls on twelve megapixels that were late or whose labels had another size."""
    repeats = (-(-PHOTO[0] // image.shape[0]), -(-PHOTO[1] // image.shape[1]), 1)
    photo = np.ascontiguousarray(np.tile(image, repeats)[: PHOTO[0], : PHOTO[1]])
    out = engine.label(photo, PHOTO_BUDGET)
    wrong, ms, steps = 0, [], []
    for _ in range(PHOTO_CALLS):
        del out  # the memory of a result that is let go serves the next call
        out = engine.label(photo, PHOTO_BUDGET)
        wrong += is_late(out.cost, PHOTO_BUDGET) or out.labels.shape != PHOTO
        ms.append(out.cost)
        steps.append(len(out.trace))
    parts = {"calls": PHOTO_CALLS, "ms": ms, "steps": steps}
    return Figure("12 megapixels in 100 ms: calls that failed", Bar("at most", 0), wrong, parts=parts)


@dataclass
class _Tally:
    """Mean accuracy over images."""

    accuracies: list[float] = field(default_factory=list)

    def add(self, labels: NDArray[np.int16], truth: NDArray[np.int16], classes: int) -> None:
        self.accuracies.append(metrics.pixel_accuracy(metrics.count(truth, labels, classes)))

    def mean(self) -> float:
        return float(np.mean(self.accuracies))


def _against_the_curve(engine: Engine, scenes: SceneList) -> Figure:
    """How far the accuracy by the clock lies below that which predicted costs promise for 0.8 of the time."""
    clock = {budget: _Tally() for budget in COMPARED}
    curve = {budget: _Tally() for budget in COMPARED}
    classes = len(engine.classes)
    painting = engine.local.calibration.predict(DETAIL, regions=1)[0]
    for scene in scenes:
        if scene.truth is None:
            continue
        foretold, spent = [], painting
        for labeling in engine.stream(scene.image):
            spent += labeling.trace[-1].predicted_ms if labeling.trace else 0.0
            foretold.append((spent, labeling.labels))
        for budget in COMPARED:
            in_time = [labels for ms, labels in foretold if ms <= 0.8 * budget]
            curve[budget].add(in_time[-1], scene.truth, classes)
            clock[budget].add(engine.label(scene.image, budget).labels, scene.truth, classes)
    below = {f"{budget} ms": 100 * (curve[budget].mean() - clock[budget].mean()) for budget in COMPARED}
    parts = {
        "points below": below,
        "on the clock": {f"{budget} ms": clock[budget].mean() for budget in COMPARED},
        "foretold for a fifth less": {f"{budget} ms": curve[budget].mean() for budget in COMPARED},
    }
    name = "accuracy on the clock below the foretold curve"
    return Figure(name, Bar("at most", 0.1), max(below.values()), unit="points", parts=parts)


def _calibration_error(engine: Engine, scenes: SceneList) -> Figure:
    """The largest expected calibration error of confidence at any of the budgets."""
    errors = {}
    for budget in CALIBRATED:
        tallies = np.zeros((BINS, 3))
        for scene in scenes:
            if scene.truth is not None:
                tallies += reliability(engine.label(scene.image, budget, confidence=True), scene.truth)
        errors["unlimited" if budget is None else f"{budget} ms"] = expected_calibration_error(tallies)
    return Figure("expected calibration error", Bar("at most", 0.03), max(errors.values()), parts=errors)


def reliability(labeling: Labeling, truth: NDArray[np.int16]) -> NDArray[np.float64]:
    """Pixels, right pixels and the sum of confidence in each of BINS equal ranges of confidence."""
    known = truth >= 0
    confidence = labeling.require_confidence()[known]
    right = labeling.labels[known] == truth[known]
    which = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    weights = (None, right, confidence)
    return np.stack([np.bincount(which, weight, minlength=BINS) for weight in weights], axis=1)


def expected_calibration_error(tallies: NDArray[np.float64]) -> float:
    """Mean gap between confidence and accuracy, weighted by pixels."""
    pixels, right, confidence = tallies.T
    return float(np.abs(right - confidence).sum() / max(pixels.sum(), 1))
