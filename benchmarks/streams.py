"""`bench streams`: what thinking between frames buys, in real time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anyscene import metrics
from anyscene.data import open as open_data
from anyscene.data.camera_paths import PathFrames, camera_path
from anyscene.data.clips import recorded_clips
from anyscene.data.scenes import Scene, SceneList
from anyscene.hierarchy.pyramid import working_frame
from anyscene.streams.engine import StreamingEngine, load
from anyscene.streams.live import Live
from anyscene.streams.looks import Looks, looks_of
from anyscene.streams.motion import sight_of
from anyscene.streams.showing import labels_of
from benchmarks.figures import Bar, Figure, Request

RATE = 15.0
"""Frames a second."""

STILLS_OF = "0006R0"
"""The drive whose stills are stood before and cut between: half a's network has not seen it."""

STILLS = 11

SPARING = 0.34
"""Of a full run a frame; a stream begins with one look to spend, which counts, too."""

Labels = NDArray[np.int16]


@dataclass
class Shown:
    """Labels of consecutive frames against the truth: cells of the confusion matrix, and what flickers."""

    classes: int
    counts: NDArray[np.int64] = field(init=False)
    changed: int = 0
    stayed: int = 0
    _before: tuple[Labels, Labels] | None = None

    def __post_init__(self) -> None:
        self.counts = np.zeros((self.classes, self.classes + 1), np.int64)

    def add(self, labels: Labels, truth: Labels) -> None:
        """Count one frame."""
        self.counts += metrics.count(truth, labels, self.classes)
        if self._before is not None:
            same = (truth == self._before[1]) & (truth >= 0)
            self.changed += int((same & (labels != self._before[0])).sum())
            self.stayed += int(same.sum())
        self._before = labels, truth

    @property
    def pixel(self) -> float:
        """Pixels right, in percent."""
        return 100 * metrics.pixel_accuracy(self.counts)

    @property
    def miou(self) -> float:
        """Mean IoU, in percent."""
        return 100 * metrics.mean_iou(self.counts)

    @property
    def flicker(self) -> float:
        """Labels that change where the truth stays, in percent."""
        return 100 * self.changed / max(self.stayed, 1)

    def parts(self) -> dict[str, float]:
        """All three."""
        return {"pixel": self.pixel, "mean IoU": self.miou, "flicker": self.flicker}


def run(request: Request) -> Iterator[Figure]:
    """Measure `request.model` on the recorded clips of `request.data` (CamVid's val), and on camera paths."""
    engine = load(request.model or "camvid")
    if request.data is None:
        yield Figure("streams", None, None, skipped="needs --data camvid:PATH")
        return
    data = open_data(request.data)
    scenes = [scene for clip in recorded_clips(data.split(request.split or "val")) for scene in clip.frames]
    looks = looks_of(engine)
    full_ms, fresh = _fresh(engine, looks, scenes)
    yield from _budgets(engine, scenes, fresh, full_ms)
    stills = _stills(data.split("train"))
    yield from _still_camera(engine, looks, stills)
    yield _cuts(engine, stills)


def _stills(train: SceneList) -> list[Scene]:
    of_drive = [index for index, id in enumerate(train.ids) if id.startswith(STILLS_OF)]
    return list(train.pick([of_drive[int(place)] for place in np.linspace(0, len(of_drive) - 1, STILLS)]))


def _fresh(engine: StreamingEngine, looks: Looks, scenes: Sequence[Scene]) -> tuple[float, Shown]:
    """The finest look at every frame, painted as streams are, and what it takes."""
    shown, times = Shown(len(engine.classes)), []
    for scene in scenes:
        begun = time.thread_time()
        labels = _full_run(looks, scene.image)
        times.append((time.thread_time() - begun) * 1e3)
        assert scene.truth is not None
        shown.add(labels, scene.truth)
    return float(np.median(times)), shown


def _full_run(looks: Looks, image: NDArray[np.uint8]) -> Labels:
    frame = working_frame(image)
    scores = looks.scores(frame, len(looks) - 1)
    return labels_of(scores, frame, sight_of(frame), (image.shape[0], image.shape[1]))


@dataclass(frozen=True)
class Played:
    """A stream in real time. ms : of each call. cpu_ms : of calls and looks, a frame."""

    shown: Shown
    ms: list[float]
    late: float
    cpu_ms: float
    ages_ms: list[float]


def _play(live: Live, scenes: Sequence[Scene], classes: int) -> Played:
    """Show frames at their rate, and hold the labels against the frame that is current when they arrive."""
    shown, ms, late, ages = Shown(classes), [], 0, []
    begun = time.perf_counter()
    for turn, scene in enumerate(scenes):
        time.sleep(max(0.0, begun + turn / RATE - time.perf_counter()))
        out = live.label(scene.image.copy())  # a camera's frame has just been written, too
        current = int((time.perf_counter() - begun) * RATE)
        truth = scenes[min(max(turn, current), len(scenes) - 1)].truth
        assert truth is not None
        shown.add(out.labels, truth)
        ms.append(out.cost)
        late += out.deadline_met is False
        ages.append(out.age_ms or 0.0)
    time.sleep(1 / RATE)
    status = live.status
    cpu = status.cpu_share * (time.perf_counter() - begun) * 1e3 / len(scenes)
    return Played(shown, ms, late / len(scenes), cpu, ages)


def _budgets(
    engine: StreamingEngine, scenes: Sequence[Scene], fresh: Shown, full_ms: float
) -> Iterator[Figure]:
    classes = len(engine.classes)
    alone = Shown(classes)
    for scene in scenes:
        assert scene.truth is not None
        alone.add(engine.label(scene.image, 3.0).labels, scene.truth)
    with engine.live(3.0) as live:
        played = _play(live, scenes, classes)
    parts = {
        "stream": played.shown.parts(),
        "single frames": alone.parts(),
        "fresh full runs": fresh.parts(),
        "full run, CPU ms": full_ms,
        "CPU ms a frame": played.cpu_ms,
        "median age ms": float(np.median(played.ages_ms)),
        "late": played.late,
    }
    stream = played.shown
    name = "3 ms against single frames"
    yield Figure(f"{name}: pixel", Bar("at least", 2.5), stream.pixel - alone.pixel, "points", parts)
    yield Figure(f"{name}: mean IoU", Bar("at least", 8.0), stream.miou - alone.miou, "points")
    name = "3 ms against fresh full runs"
    yield Figure(f"{name}: pixel", Bar("at least", -0.2), stream.pixel - fresh.pixel, "points")
    yield Figure(f"{name}: mean IoU", Bar("at least", -1.0), stream.miou - fresh.miou, "points")
    yield Figure(
        "flicker against fresh full runs", Bar("at most", 0.75), stream.flicker / max(fresh.flicker, 1e-9)
    )
    with engine.live(2.0) as live:
        quick = _play(live, scenes, classes)
    yield Figure(
        "2 ms: median time over a full run", Bar("at most", 0.1), float(np.median(quick.ms)) / full_ms
    )
    yield Figure("2 ms: late calls", Bar("at most", 0.02), quick.late, parts=quick.shown.parts())
    with engine.live(3.0, cpu=min(1.0, SPARING * full_ms * RATE / 1e3)) as live:
        sparing = _play(live, scenes, classes)
    name = "CPU at most 0.35 of a full run a frame"
    yield Figure(f"{name}: share used", Bar("at most", 0.35), sparing.cpu_ms / full_ms)
    yield Figure(
        f"{name}: pixel against full runs",
        Bar("at least", -0.4),
        sparing.shown.pixel - fresh.pixel,
        "points",
        sparing.shown.parts(),
    )
    yield Figure(
        f"{name}: mean IoU against full runs",
        Bar("at least", -1.5),
        sparing.shown.miou - fresh.miou,
        "points",
    )


def _still_camera(engine: StreamingEngine, looks: Looks, stills: Sequence[Scene]) -> Iterator[Figure]:
    """A camera that stands before one still after the other, after the first second of each."""
    classes = len(engine.classes)
    full, shown = Shown(classes), Shown(classes)
    times_ms, spent_ms, looked = [], 0.0, 0
    for number, still in enumerate(stills):
        path = camera_path("still", 0.0, 60, np.random.default_rng(number))
        frames = list(PathFrames(still, path, number))
        alone, full_ms = Shown(classes), _fresh(engine, looks, frames[:15])[0]
        for scene in frames[15:]:
            assert scene.truth is not None
            alone.add(_full_run(looks, scene.image), scene.truth)
        with engine.live(3.0) as live:
            _play(live, frames[:15], classes)
            before = live.spent
            rest = _play(live, frames[15:], classes)
            after = live.spent
        full.counts += alone.counts
        shown.counts += rest.shown.counts
        times_ms.append(full_ms)
        spent_ms += after.calls_ms + after.looks_ms - before.calls_ms - before.looks_ms
        looked += after.looks - before.looks
    a_frame_ms = spent_ms / (45 * len(stills))
    parts = {"looks": looked, "full run ms": float(np.mean(times_ms)), "frames": 45 * len(stills)}
    yield Figure(
        "still camera: CPU after a second, of a full run",
        Bar("at most", 0.05),
        a_frame_ms / float(np.mean(times_ms)),
        "",
        parts,
    )
    gain = shown.pixel - full.pixel
    yield Figure("still camera: pixel against full runs", Bar("at least", 0.0), gain, "points")


def _cuts(engine: StreamingEngine, stills: Sequence[Scene]) -> Figure:
    """The first frame after a cut, against the same frame alone."""
    classes = len(engine.classes)
    after, alone = Shown(classes), Shown(classes)
    for _ in range(3):
        with engine.live(3.0) as live:
            for scene in stills:
                assert scene.truth is not None
                time.sleep(1 / RATE)
                after.add(live.label(scene.image.copy()).labels, scene.truth)
                time.sleep(1 / RATE)  # the core has slept before both
                alone.add(engine.label(scene.image.copy(), 3.0).labels, scene.truth)
            restarts = live.status.restarts
    parts = {"cut": after.parts(), "alone": alone.parts(), "restarts": restarts, "frames": len(stills)}
    name = "first frame after a cut against a single image"
    return Figure(f"{name}: pixel", Bar("at least", -0.5), after.pixel - alone.pixel, "points", parts)
