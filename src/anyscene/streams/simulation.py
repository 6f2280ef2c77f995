"""Streams over recorded looks: looks are run once at every frame, then any policy is simulated quickly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anyscene.data.clips import Clip
from anyscene.hierarchy.pyramid import working_frame
from anyscene.streams.looks import Looks
from anyscene.streams.memory import Carried, Memory, memory_of, merged
from anyscene.streams.motion import Motion, MotionFinder, Sight, no_motion, sight_of
from anyscene.streams.policies import NEVER, NOTHING, Situation, StreamPolicy
from anyscene.streams.restarts import motion_within_scene

TEMPERATURE = 1.5
"""Networks are too sure of themselves, the finer the more; without it a coarser look has the lower loss."""


@dataclass(frozen=True, eq=False)
class Recording:
    """A clip as policies meet it.

    motions : of each frame since the one before; None where the stream begins anew. scores : of every frame
    by every look, float16[h, w, C]. truth : int16[h, w], of each frame at the centres of its cells. trusts :
    what each look is trusted. interval_ms : between frames.
    """

    clip: Clip
    motions: tuple[Motion | None, ...]
    scores: tuple[tuple[NDArray[np.float16], ...], ...]
    truth: tuple[NDArray[np.int16], ...]
    trusts: tuple[float, ...]

    @property
    def interval_ms(self) -> float:
        """Time between frames."""
        return 1e3 / self.clip.frames_per_second

    def seen(self, at: int, look: int) -> Memory:
        """What one look alone tells of a frame."""
        return memory_of(self.scores[at][look].astype(np.float32), self.trusts[look], at * self.interval_ms)


def record(clip: Clip, looks: Looks) -> Recording:
    """Run every look at every frame of a clip, and find its motions."""
    finder = MotionFinder()
    motions: list[Motion | None] = []
    scores, truths = [], []
    anchor: Sight | None = None
    for scene in clip.frames:
        frame = working_frame(scene.image)
        sight = sight_of(frame)
        if anchor is not None and anchor.grid != sight.grid:
            anchor = None  # another size is another scene
        motion = None if anchor is None else motion_within_scene(finder, anchor, sight)
        motions.append(motion)
        if motion is not no_motion(sight.grid):
            anchor = sight
        seen = (looks.scores(frame, look) for look in range(len(looks)))
        scores.append(tuple(each.astype(np.float16) for each in seen))
        assert scene.truth is not None, "streams are learned from frames with truth"
        truths.append(_at_cells(scene.truth, sight.grid))
    return Recording(clip, tuple(motions), tuple(scores), tuple(truths), looks.trusts)


def _at_cells(truth: NDArray[np.int16], grid: tuple[int, int]) -> NDArray[np.int16]:
    rows, columns = (
        ((np.arange(cells) + 0.5) * side / cells).astype(int)
        for cells, side in zip(grid, truth.shape, strict=True)
    )
    return truth[np.ix_(rows, columns)]


@dataclass(frozen=True, eq=False)
class Moment:
    """A stream when a frame has come and nothing is decided about it.

    at : the frame's position. carried : what is believed of it. frames : how many came since the last look.
    costs : of each action, float64[A], in units of the finest look.
    """

    recording: Recording
    at: int
    carried: Carried
    frames: int
    costs: NDArray[np.float64]

    @property
    def memory(self) -> Memory:
        """What is believed of the frame."""
        return self.carried.memory

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
        return Situation(
            age_ms=self.at * self.recording.interval_ms - self.carried.known.seen_ms,
            moved=self.carried.moved,
            doubted=self.carried.doubt,
            entropy=self.carried.known.entropy,
            frames=self.frames,
            income=np.inf,
            costs=self.costs.tolist(),
            offered=[True] * len(self.costs),
        )

    @property
    def is_last(self) -> bool:
        """Whether no frame follows."""
        return self.at + 1 == len(self.recording.motions)

    def after(self, action: int) -> Moment:
        """The moment when the next frame has come and the look, if there was one, is done."""
        at = self.at + 1
        motion = self.recording.motions[at]
        if motion is None:
            return begin(self.recording, self.costs, at)
        if action == NOTHING:
            return Moment(self.recording, at, self.carried.along(motion), self.frames + 1, self.costs)
        seen = merged(self.carried, self.recording.seen(self.at, action - 1))
        return Moment(self.recording, at, Carried(seen, motion), 1, self.costs)


def begin(recording: Recording, costs: NDArray[np.float64], at: int = 0) -> Moment:
    """The first moment of a stream, or of a new scene: only the coarsest look fits into the call."""
    return Moment(recording, at, Carried(recording.seen(at, 0)), NEVER, costs)


Choice = Callable[[Moment], int]
"""Picks an action with all of a moment in hand, even its truth."""


def by(policy: StreamPolicy) -> Choice:
    """Choose as a policy does, by what it may know."""
    return lambda moment: policy.choose(moment.situation)


def simulate(moment: Moment, choose: Choice) -> list[tuple[Moment, int]]:
    """Follow choices to the end of a recording: each moment, and what was chosen there."""
    passed = [(moment, choose(moment))]
    while not moment.is_last:
        moment = moment.after(passed[-1][1])
        passed.append((moment, choose(moment)))
    return passed


@dataclass(frozen=True)
class Outcome:
    """What choices came to.

    spent : finest looks a frame, by their cost. loss : mean over frames. counts : cells by truth and label,
    int64[C, C].
    """

    spent: float
    loss: float
    counts: NDArray[np.int64]


def outcome(starts: Sequence[Moment], choose: Choice) -> Outcome:
    """Measure choices on several recordings."""
    passed = [step for start in starts for step in simulate(start, choose)]
    spent = float(np.mean([moment.costs[action] for moment, action in passed]))
    loss = float(np.mean([moment.loss for moment, _ in passed]))
    return Outcome(spent, loss, np.sum([moment.counts for moment, _ in passed], axis=0))
