"""`Live`: a camera's frames labelled by the clock; `label_video`: recorded frames, by their time stamps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.data.given import Given
from anyscene.engine import Engine
from anyscene.engine.clock import Budget, Clock, parse_budget
from anyscene.engine.engine import fixed_image
from anyscene.errors import ConfigError, StreamError
from anyscene.labeling import Labeling
from anyscene.streams.credit import Spent
from anyscene.streams.looks import Looks, looks_of
from anyscene.streams.policies import DoubtThreshold, LearnedStreamPolicy, StreamPolicy
from anyscene.streams.stream import Stream
from anyscene.streams.workers import StampedWorker, ThreadWorker, Worker

WARM_UP_SIZE = (360, 480)
"""Of the noise that a stream is tried out with before its first frame."""

USUAL_DOUBT = 0.3
"""Models without a stream policy look again where beliefs are doubted more: after three or four looks at what
does not move they are doubted less."""

Frame = NDArray[np.uint8]


@dataclass(frozen=True)
class Status:
    """How a stream is doing. cpu_share : of one core, calls and looks together, since it began."""

    frames: int
    late: int
    restarts: int
    looks: int
    age_ms: float
    cpu_share: float


class Live:
    """Labels the frames of one camera as they come; see `StreamingEngine.live`."""

    def __init__(
        self, engine: Engine, budget: Budget, cpu: float, policy: StreamPolicy | None = None
    ) -> None:
        self._budget_ms = parse_budget(budget)
        self._cpu = checked_share(cpu)
        self._engine = engine
        self._policy = policy
        self._stream: Stream | None = None
        self._began = 0.0
        self._late = 0
        self._age_ms = 0.0

    def __repr__(self) -> str:
        return f"Live({self._budget_ms:g} ms, cpu={self._cpu:g})"

    def __enter__(self) -> Live:
        self._stream = make_stream(self._engine, ThreadWorker(), self._cpu, self._policy)
        self._began = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is not None:
            self._stream.close()

    def label(self, frame: Given, confidence: bool = False, channels: str = "rgb") -> Labeling:
        """Label the frame uint8[H, W, 3] that has just come, by the deadline, counted from this call.

        confidence : whether to say how sure each label is, which takes a part of the budget. channels : "bgr"
        for frames of OpenCV.
        """
        clock = Clock(self._budget_ms)
        labeling = self._running().label(fixed_image(frame, channels), clock.begun * 1e3, clock, confidence)
        self._late += labeling.deadline_met is False
        self._age_ms = labeling.age_ms or 0.0
        return labeling

    @property
    def status(self) -> Status:
        """How the stream is doing."""
        spent = self.spent
        passed_ms = (time.perf_counter() - self._began) * 1e3
        share = (spent.calls_ms + spent.looks_ms) / max(passed_ms, 1.0)
        return Status(spent.frames, self._late, spent.restarts, spent.looks, self._age_ms, share)

    @property
    def spent(self) -> Spent:
        """What the stream spent so far."""
        return self._running().spent

    def _running(self) -> Stream:
        if self._stream is None:
            raise StreamError(
                "this stream is not open; write `with model.live(...) as live:` and label inside"
            )
        return self._stream


def label_video(
    engine: Engine,
    frames: Iterable[Frame | tuple[float, Frame]],
    budget: Budget,
    cpu: float = 1.0,
    frames_per_second: float = 30.0,
    confidence: bool = False,
    policy: StreamPolicy | None = None,
) -> Iterator[Labeling]:
    """Label recorded frames as if they came from a camera; see `StreamingEngine.video`."""
    budget_ms, share = parse_budget(budget), checked_share(cpu)
    if not frames_per_second > 0:
        raise ConfigError(f"frames_per_second must be above 0, found {frames_per_second}")
    return _labelings(engine, frames, budget_ms, share, 1e3 / frames_per_second, confidence, policy)


def _labelings(
    engine: Engine,
    frames: Iterable[Frame | tuple[float, Frame]],
    budget_ms: float,
    cpu: float,
    interval_ms: float,
    confidence: bool,
    policy: StreamPolicy | None,
) -> Iterator[Labeling]:
    worker = StampedWorker()
    stream = make_stream(engine, worker, cpu, policy)
    for number, item in enumerate(frames):
        stamp_ms, frame = item if isinstance(item, tuple) else (number * interval_ms, item)
        labeling = stream.label(frame, stamp_ms, Clock(budget_ms), confidence)
        worker.work()
        yield labeling


def checked_share(cpu: float) -> float:
    """Return a share of one core, or raise."""
    if isinstance(cpu, bool) or not isinstance(cpu, int | float) or not 0 <= cpu <= 1:
        raise ConfigError(f"cpu is the share of one core that a stream may use, from 0 to 1, found {cpu!r}")
    return float(cpu)


def policy_of(engine: Engine, looks: Looks) -> StreamPolicy:
    """The model's stream policy; where it has none, a look at the finest size when beliefs are doubted."""
    section = engine.learned.stream
    if section is None or section.looks != looks.names:
        return DoubtThreshold(len(looks), USUAL_DOUBT)
    return LearnedStreamPolicy.of_section(section)


def make_stream(
    engine: Engine,
    worker: Worker,
    cpu: float,
    policy: StreamPolicy | None = None,
    looks: Looks | None = None,
) -> Stream:
    """Make a stream ready; see `stream_maker`."""
    return stream_maker(engine, policy, looks)(worker, cpu)


def stream_maker(
    engine: Engine, policy: StreamPolicy | None = None, looks: Looks | None = None
) -> Callable[[Worker, float], Stream]:
    """Return what makes streams from workers and shares of a core, at once and any number of times.

    Everything that they run is compiled, loaded and timed here, by labeling noise. policy, looks : the
    model's own unless given.
    """
    if cv2.getNumThreads() != engine.threads:
        cv2.setNumThreads(engine.threads)
    looks = looks or looks_of(engine)
    policy = policy or policy_of(engine, looks)
    noise = np.random.default_rng(0).integers(0, 256, (*WARM_UP_SIZE, 3), dtype=np.uint8)
    costs = looks.measure(noise)

    def fresh(worker: Worker, cpu: float) -> Stream:
        return Stream(engine, looks, costs, policy, worker, cpu)

    trial = fresh(StampedWorker(), 1.0)
    for turn in range(4):  # still, moved, with a look at hand, and another scene
        image = np.roll(noise, 4 * (turn // 2), axis=1) if turn < 3 else np.full_like(noise, 128)
        trial.label(image, 100.0 * turn, Clock(1e3), confidence=True)
    return fresh
