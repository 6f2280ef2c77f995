"""Streams over recorded looks: looks are run once at every frame, then any policy is simulated quickly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anyscene.data.clips import Clip
from anyscene.hierarchy.pyramid import working_frame
from anyscene.streams.looks import on_grid
from anyscene.streams.memory import Memory, doubt, entropy, merged, moved
from anyscene.streams.motion import Motion, MotionFinder, Sight, is_still, no_motion, sight_of
from anyscene.streams.policies import NOTHING, Situation, StreamPolicy
from anyscene.streams.restarts import is_another_scene

TEMPERATURE = 1.5
"""Networks are too sure of themselves, the finer the more; without it a coarser look has the lower loss."""

Looker = Callable[[NDArray[np.uint8]], Sequence[NDArray[np.float32]]]
"""Gives the class scores of a working frame by every look, from the smallest to the finest."""


@dataclass(frozen=True, eq=False)
class Recording:
    """A clip as policies meet it.

    motions : of each frame since the one before; None where the stream begins anew. scores : of every frame
    by every look, float16[h, w, C]. truth : int16[h, w], of each frame at the centres of its cells.
    interval_ms : between frames.
    """

    clip: Clip
    motions: tuple[Motion | None, ...]
    scores: tuple[tuple[NDArray[np.float16], ...], ...]
    truth: tuple[NDArray[np.int16], ...]
    interval_ms: float


def record(clip: Clip, looker: Looker) -> Recording:
    """Run every look at every frame of a clip, and find its motions."""
    finder = MotionFinder()
    motions: list[Motion | None] = []
    scores, truths = [], []
    anchor: Sight | None = None
    for scene in clip.frames:
        frame = working_frame(scene.image)
        sight = sight_of(frame)
        if anchor is not None and is_still(anchor, sight):
            motions.append(no_motion(sight.grid))
        else:
            motion = None if anchor is None else finder.find(anchor, sight)
            motions.append(None if motion is None or is_another_scene(motion) else motion)
            anchor = sight
        scores.append(tuple(on_grid(look, sight.grid).astype(np.float16) for look in looker(frame)))
        assert scene.truth is not None, "streams are learned from frames with truth"
        truths.append(_at_cells(scene.truth, sight.grid))
    return Recording(clip, tuple(motions), tuple(scores), tuple(truths), 1e3 / clip.frames_per_second)


def _at_cells(truth: NDArray[np.int16], grid: tuple[int, int]) -> NDArray[np.int16]:
    rows, columns = (
        ((np.arange(cells) + 0.5) * side / cells).astype(int)
        for cells, side in zip(grid, truth.shape, strict=True)
    )
    return truth[np.ix_(rows, columns)]


@dataclass(frozen=True, eq=False)
class Moment:
    """A stream when a frame has come and nothing is decided about it.

    at : the frame's position. memory : what is believed of it. frames : how many came since the last look.
    trusts : what each look is trusted. costs_ms : of each action.
    """

    recording: Recording
    at: int
    memory: Memory
    frames: int
    trusts: tuple[float, ...]
    costs_ms: NDArray[np.float64]
    income_ms: float = np.inf

    @cached_property
    def loss(self) -> float:
        """Mean cross-entropy of what is believed, in nats, over the cells whose truth is known."""
        truth = self.recording.truth[self.at]
        known = truth >= 0
        if not known.any():
            return 0.0
        scores = self.memory.scores[known] / np.float32(TEMPERATURE)
        scores -= scores.max(axis=1, keepdims=True)
        chosen = np.take_along_axis(scores, truth[known][:, None].astype(np.intp), axis=1)[:, 0]
        return float((np.log(np.exp(scores).sum(axis=1)) - chosen).mean())

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Cells by truth and label, int64[C, C]."""
        truth = self.recording.truth[self.at]
        classes = self.memory.scores.shape[2]
        known = truth >= 0
        pairs = truth[known].astype(np.int64) * classes + self.memory.scores[known].argmax(axis=1)
        return np.bincount(pairs, minlength=classes**2).reshape(classes, classes)

    @cached_property
    def situation(self) -> Situation:
        """What a policy sees of it."""
        age = self.at * self.recording.interval_ms - self.memory.seen_ms
        doubted = doubt(self.memory)
        offered = np.ones(len(self.costs_ms), bool)
        return Situation(
            age,
            self.memory.moved,
            doubted,
            entropy(self.memory),
            self.frames,
            self.income_ms,
            self.costs_ms,
            offered,
        )

    @property
    def is_last(self) -> bool:
        """Whether no frame follows."""
        return self.at + 1 == len(self.recording.motions)

    def after(self, action: int) -> Moment:
        """The moment when the next frame has come and the look, if there was one, is done."""
        motion = self.recording.motions[self.at + 1]
        if motion is None:
            return begin(self.recording, self.trusts, self.costs_ms, self.at + 1)
        memory = self.memory
        if action != NOTHING:
            memory = merged(memory, _seen(self.recording, self.at, action - 1, self.trusts))
        frames = 1 if action != NOTHING else self.frames + 1
        return Moment(self.recording, self.at + 1, moved(memory, motion), frames, self.trusts, self.costs_ms)


def begin(
    recording: Recording, trusts: tuple[float, ...], costs_ms: NDArray[np.float64], at: int = 0
) -> Moment:
    """The first moment of a stream, or of a new scene: only the smallest look fits into the call."""
    return Moment(recording, at, _seen(recording, at, 0, trusts), FIRST_FRAMES, trusts, costs_ms)


FIRST_FRAMES = 1_000
"""Frames since the last look where there was none: every period has passed."""


def _seen(recording: Recording, at: int, look: int, trusts: tuple[float, ...]) -> Memory:
    scores = recording.scores[at][look].astype(np.float32)
    return Memory(scores, np.full(scores.shape[:2], trusts[look], np.float32), at * recording.interval_ms)


@dataclass(frozen=True)
class Outcome:
    """What a policy came to. cpu_ms : a frame. loss : mean over frames. counts : int64[C, C]."""

    cpu_ms: float
    loss: float
    counts: NDArray[np.int64]


def simulate(moment: Moment, policy: StreamPolicy) -> list[tuple[Moment, int]]:
    """Follow a policy to the end of a recording: each moment, and what was chosen there."""
    passed = []
    while True:
        action = policy.choose(moment.situation)
        passed.append((moment, action))
        if moment.is_last:
            return passed
        moment = moment.after(action)


def outcome(starts: Sequence[Moment], policy: StreamPolicy, skipped: int = 0) -> Outcome:
    """Measure a policy on several recordings. skipped : frames at the start of each that do not count."""
    passed = [step for start in starts for step in simulate(start, policy)[skipped:]]
    cpu = float(np.mean([moment.costs_ms[action] for moment, action in passed]))
    loss = float(np.mean([moment.loss for moment, _ in passed]))
    return Outcome(cpu, loss, np.sum([moment.counts for moment, _ in passed], axis=0))
