"""`bench streams`: what thinking between frames buys, in real time."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anyscene import metrics
from anyscene.data import open as open_data
from anyscene.data.camera_paths import PathFrames, camera_clips, camera_path
from anyscene.data.clips import recorded_clips
from anyscene.data.scenes import Scene
from anyscene.errors import StreamError
from anyscene.hierarchy.pyramid import working_frame
from anyscene.streams.engine import StreamingEngine, load
from anyscene.streams.learning import at_price, fixed_policies
from anyscene.streams.live import Live, policy_of
from anyscene.streams.looks import Looks, looks_of
from anyscene.streams.motion import sight_of
from anyscene.streams.policies import DoubtThreshold, LearnedStreamPolicy, StreamPolicy
from anyscene.streams.showing import labels_of
from anyscene.streams.simulation import Moment, begin, outcome, record
from benchmarks.figures import Bar, Figure, Request

RATE = 15.0
HELD_OUT_DRIVE = "0006R0"
CLIPS = 11
"""Camera paths that policies are compared on: each motion at each speed once."""

SOAK_FRAMES = 30_000
LEVELS = tuple(np.round(np.arange(0.34, 0.8, 0.02), 2).tolist())

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
    stills = _held_out(data.split("train"))
    yield _policies(engine, looks, stills)
    yield from _still_camera(engine, looks, stills[0], full_ms)
    yield _cuts(engine, stills)
    yield from _soak(engine, [scene.image for scene in scenes[:40]])


def _held_out(train: Sequence[Scene]) -> list[Scene]:
    scenes = [scene for scene in train if scene.id.startswith(HELD_OUT_DRIVE)]
    return scenes[:: max(1, len(scenes) // CLIPS)][:CLIPS]


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
    scores = looks.scores(frame, len(looks) - 1, sight_of(frame).grid)
    return labels_of(scores, frame, (image.shape[0], image.shape[1]))


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
        out = live.label(scene.image)
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
    with engine.live(3.0, cpu=min(1.0, 0.35 * full_ms * RATE / 1e3)) as live:
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


def _policies(engine: StreamingEngine, looks: Looks, stills: Sequence[Scene]) -> Figure:
    """What D-NM spends for the accuracy of the best fixed look and period, in simulated streams."""
    clips = camera_clips(stills, np.random.default_rng(7))

    def every_look(frame: NDArray[np.uint8]) -> list[NDArray[np.float32]]:
        return [looks.scores(frame, look, sight_of(frame).grid) for look in range(len(looks))]

    costs = np.array([0.0, *looks.measure(np.zeros((360, 480, 3), np.uint8), (90, 120))])
    starts = [begin(record(clip, every_look), looks.trusts, costs) for clip in clips]
    fixed = {f"look {each.look} every {each.period}": each for each in fixed_policies(len(looks))}
    reached = {name: outcome(starts, policy) for name, policy in fixed.items()}
    best = max(reached, key=lambda name: _pixel(reached[name].counts))
    bar = _pixel(reached[best].counts)
    learned = _varied(engine, starts)
    enough = [(cpu, pixel) for cpu, pixel in learned if pixel >= bar]
    ratio = min(cpu for cpu, _ in enough) / reached[best].cpu_ms if enough else float("nan")
    parts = {
        "best fixed": {"policy": best, "CPU ms": reached[best].cpu_ms, "pixel": bar},
        "fixed": {name: [one.cpu_ms, _pixel(one.counts)] for name, one in reached.items()},
        "D-NM": learned,
    }
    return Figure(
        "CPU that D-NM needs for the best fixed look and period", Bar("at most", 0.6), ratio, "", parts
    )


def _varied(engine: StreamingEngine, starts: Sequence[Moment]) -> list[tuple[float, float]]:
    """CPU time and accuracy of the model's policy at each of its prices."""
    policy = policy_of(engine, looks_of(engine))
    ways: list[StreamPolicy]
    if isinstance(policy, LearnedStreamPolicy):
        ways = [at_price(policy.pool, policy.coefficients, price) for price in policy.prices]
    else:
        ways = [DoubtThreshold(len(starts[0].costs_ms) - 1, level) for level in LEVELS]
    found = [outcome(starts, way) for way in ways]
    return [(one.cpu_ms, _pixel(one.counts)) for one in found]


def _pixel(counts: NDArray[np.int64]) -> float:
    return 100 * metrics.pixel_accuracy(counts)


def _still_camera(engine: StreamingEngine, looks: Looks, still: Scene, full_ms: float) -> Iterator[Figure]:
    path = camera_path("still", 0.0, 60, np.random.default_rng(0))
    frames = list(PathFrames(still, path, 0))
    classes = len(engine.classes)
    full = Shown(classes)
    for scene in frames[15:]:
        assert scene.truth is not None
        full.add(_full_run(looks, scene.image), scene.truth)
    small_ms = _fresh(engine, looks, frames[:15])[0]
    with engine.live(3.0) as live:
        _play(live, frames[:15], classes)
        before = live.status
        spent = live.spent.calls_ms + live.spent.looks_ms
        rest = _play(live, frames[15:], classes)
        after_ms = (live.spent.calls_ms + live.spent.looks_ms - spent) / len(frames[15:])
    parts = {"looks": live.status.looks - before.looks, "full run ms": small_ms, "of CamVid's": full_ms}
    yield Figure(
        "still camera: CPU after a second, of a full run",
        Bar("at most", 0.05),
        after_ms / small_ms,
        "",
        parts,
    )
    gain = rest.shown.pixel - full.pixel
    yield Figure("still camera: pixel against full runs", Bar("at least", 0.0), gain, "points")


def _cuts(engine: StreamingEngine, stills: Sequence[Scene]) -> Figure:
    """The first frame after a cut, against the same frame alone."""
    classes = len(engine.classes)
    after, alone = Shown(classes), Shown(classes)
    for _ in range(3):
        with engine.live(3.0) as live:
            for scene in stills:
                time.sleep(1 / RATE)
                assert scene.truth is not None
                after.add(live.label(scene.image).labels, scene.truth)
                alone.add(engine.label(scene.image, 3.0).labels, scene.truth)
            restarts = live.status.restarts
    parts = {"cut": after.parts(), "alone": alone.parts(), "restarts": restarts, "frames": len(stills)}
    name = "first frame after a cut against a single image"
    return Figure(f"{name}: pixel", Bar("at least", -0.5), after.pixel - alone.pixel, "points", parts)


def _soak(engine: StreamingEngine, images: Sequence[NDArray[np.uint8]]) -> Iterator[Figure]:
    """Many frames of mixed sizes, with pauses, cuts and gaps: memory, lateness, errors."""
    random = np.random.default_rng(0)
    sizes = [(360, 480), (180, 240), (270, 480), (90, 120)]
    failures, size, at = 0, sizes[0], 0
    late: list[bool] = []
    resident: list[float] = []
    with engine.live(5.0) as live:
        for turn in range(SOAK_FRAMES):
            if random.random() < 0.005:
                size = sizes[int(random.integers(len(sizes)))]
            if random.random() < 0.02:
                at = int(random.integers(len(images)))  # a cut, or dropped frames
            if random.random() < 0.0002:
                time.sleep(1.1)
            at = (at + 1) % len(images)
            frame = images[at][: size[0], : size[1]]
            try:
                late.append(live.label(frame).deadline_met is False)
            except StreamError:
                failures += 1
            if turn % 1000 == 999:
                resident.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    third = len(late) // 3
    drift = float(np.mean(late[-third:]) - np.mean(late[:third]))
    parts = {"resident MB": resident, "late first third": float(np.mean(late[:third])), "frames": len(late)}
    name = f"{SOAK_FRAMES} mixed frames"
    yield Figure(
        f"{name}: memory grown after the first third",
        Bar("at most", 20.0),
        resident[-1] - resident[9],
        "MB",
        parts,
    )
    yield Figure(f"{name}: late calls, last third less first", Bar("at most", 0.01), drift)
    yield Figure(f"{name}: errors", Bar("at most", 0), failures)
