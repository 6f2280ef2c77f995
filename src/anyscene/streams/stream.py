"""`Stream`: frames in, labels out, with all that is kept from one frame to the next."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anyscene.engine import Engine
from anyscene.engine.clock import Clock
from anyscene.engine.engine import fixed_image
from anyscene.errors import StreamError
from anyscene.features.hypercolumn.watchdog import OutOfTime
from anyscene.hierarchy.pyramid import working_frame
from anyscene.labeling import Labeling
from anyscene.painting.confidence import confidence_between
from anyscene.streams.credit import Credit
from anyscene.streams.looks import Looks
from anyscene.streams.memory import Memory, doubt, entropy, memory_of, merged, moved, shown
from anyscene.streams.motion import (
    SMALLEST_SIDE,
    Motion,
    MotionFinder,
    Sight,
    after_another,
    is_still,
    sight_of,
)
from anyscene.streams.policies import NEVER, NOTHING, Situation, StreamPolicy
from anyscene.streams.restarts import LONGEST_PAUSE_MS, motion_within_scene
from anyscene.streams.showing import labels_of
from anyscene.streams.workers import Worker

USUAL_INTERVAL_MS = 66.0
"""Between frames, until some have come."""

MARGIN = 1.25
"""A look may take so many times what it usually takes, and must still leave time to paint."""

EASE = 4.0
"""Where the account is full, a policy may spend so many times what comes in."""

SAVED_UP_MS = 100.0
"""CPU time that can be saved up for later, or what two looks at the finest size take if that is more."""

LEARNING_RATE = 0.1
"""How much the newest time of a step counts in what it usually takes."""


@dataclass(frozen=True, eq=False)
class Arrival:
    """A frame that has just come.

    image : as it was given. frame : in the size that is worked on. sight : of the frame. at_ms : when it
    came, by the clock of the stream. clock : of the call; it says when labels are due.
    """

    image: NDArray[np.uint8]
    frame: NDArray[np.uint8]
    sight: Sight
    at_ms: float
    clock: Clock

    @property
    def can_be_followed(self) -> bool:
        """Whether the frame is large enough to find motion in."""
        height, width, _ = self.frame.shape
        return bool(min(height, width) >= SMALLEST_SIDE)


@dataclass(frozen=True, eq=False)
class Pending:
    """A look under way: at which frame, and how the image moved since. motion : None if it did not."""

    look: int
    seen_ms: float
    expected_ms: float
    motion: Motion | None = None


@dataclass(eq=False)
class Scene:
    """What is kept of the scene in sight; another scene begins with an empty one.

    shape : of its frames. memory : what is believed. sight : of the last frame that beliefs were moved to.
    frames : how many came since the last look. painted : the labels that were shown last, and of what.
    """

    shape: tuple[int, ...] = ()
    memory: Memory | None = None
    sight: Sight | None = None
    pending: Pending | None = None
    frames: int = NEVER
    painted: tuple[Memory, NDArray[np.int16]] | None = None

    def learn(self, newer: Memory) -> None:
        """Take in what a look at the frame in sight has told."""
        self.memory = merged(self.memory, newer)

    def move(self, motion: Motion) -> None:
        """Take beliefs, and what a look under way will tell, along to the next frame."""
        if self.memory is not None:
            self.memory = moved(self.memory, motion)
        if self.pending is not None:
            before = self.pending.motion
            since = motion if before is None else after_another(before, motion)
            self.pending = replace(self.pending, motion=since)


@dataclass
class Spent:
    """What a stream spent so far: CPU milliseconds of calls and of looks between them.

    looks : that were taken between calls and came in time. restarts : new scenes.
    """

    frames: int = 0
    looks: int = 0
    restarts: int = 0
    calls_ms: float = 0.0
    looks_ms: float = 0.0


class Stream:
    """One camera's frames, in order; not to be used by two threads at once.

    engine : labels alone where there is no time for a look. looks, policy, worker : see there. cpu : the
    share of one core that calls and looks may take together; calls are never refused. costs_ms : what each
    look takes here.
    """

    def __init__(
        self,
        engine: Engine,
        looks: Looks,
        costs_ms: tuple[float, ...],
        policy: StreamPolicy,
        worker: Worker,
        cpu: float = 1.0,
    ) -> None:
        self._engine = engine
        self._looks = looks
        self._policy = policy
        self._worker = worker
        self._costs_ms = list(costs_ms)
        self._painting_ms = 1.0
        self._finder = MotionFinder()
        self._arrivals: deque[float] = deque(maxlen=10)
        self._cpu = cpu
        self._credit = Credit(cpu, max(SAVED_UP_MS, 2 * costs_ms[-1]), costs_ms[-1])
        self._scene = Scene()
        self._spent = Spent()

    @property
    def spent(self) -> Spent:
        """What the stream spent so far."""
        return replace(self._spent, looks_ms=self._worker.cpu_ms)

    @property
    def interval_ms(self) -> float:
        """How far apart frames come, as learned from their arrival."""
        gaps = np.diff(self._arrivals)
        return float(np.median(gaps)) if len(gaps) else USUAL_INTERVAL_MS

    def label(
        self, image: NDArray[np.uint8], arrived_ms: float, clock: Clock, confidence: bool = False
    ) -> Labeling:
        """Label the frame that has just come.

        arrived_ms : by the clock of the stream, which the worker goes by, too. clock : of the call; it says
        when labels are due. confidence : whether to paint how sure labels are.
        """
        cpu_begun = time.thread_time()
        image = fixed_image(image)
        frame = working_frame(image)
        arrival = Arrival(image, frame, sight_of(frame), arrived_ms, clock)
        self._credit.earn(arrived_ms)
        failure = self._receive(arrived_ms)
        self._follow(arrival)
        if failure is not None:
            raise failure
        # A new scene is worth the finest look or is labelled alone: that tells more than a coarser look.
        useful = range(len(self._looks)) if self._scene.memory else [len(self._looks) - 1]
        hurries = not any(self._fits(look, clock) for look in useful)
        left_to_do = NOTHING if hurries else self._decide(arrival)
        labeling = self._labeling(arrival, confidence)
        if hurries:  # labels need not wait for a decision on what is done after them
            left_to_do = self._decide(arrival)
        call_ms = (time.thread_time() - cpu_begun) * 1e3
        self._credit.spend(call_ms)
        self._spent.frames += 1
        self._spent.calls_ms += call_ms
        if left_to_do != NOTHING:
            self._submit(arrival, left_to_do - 1)
        return labeling

    def close(self) -> None:
        """Stop looking."""
        self._worker.close()

    def _begin_anew(self) -> None:
        """Forget everything about the scene."""
        self._worker.set_aside()
        self._scene = Scene()

    def _receive(self, now_ms: float) -> StreamError | None:
        """Take in the look that is done, as of the frame before the one that has come."""
        finished, pending = self._worker.collect(now_ms), self._scene.pending
        if finished is None or pending is None:
            return None
        self._scene.pending = None
        self._credit.spend(finished.cpu_ms - pending.expected_ms)
        if finished.scores is None:
            self._begin_anew()
            return StreamError(
                f"a look between two frames failed ({finished.error}); "
                "the stream begins anew with the next frame"
            )
        self._spent.looks += 1
        self._note_cost(pending.look, finished.cpu_ms)
        seen = memory_of(finished.scores, self._looks.trusts[pending.look], pending.seen_ms)
        self._scene.learn(seen if pending.motion is None else moved(seen, pending.motion))
        return None

    def _follow(self, arrival: Arrival) -> None:
        """Take beliefs along to the frame that has come, or begin anew where it shows another scene."""
        paused = bool(self._arrivals) and not 0 <= arrival.at_ms - self._arrivals[-1] <= LONGEST_PAUSE_MS
        if paused:
            self._arrivals.clear()
        self._arrivals.append(arrival.at_ms)
        self._scene.frames += 1
        before, after = self._scene.sight, arrival.sight
        motion = None
        if before and not paused and arrival.can_be_followed and arrival.image.shape == self._scene.shape:
            if is_still(before, after):
                return
            motion = motion_within_scene(self._finder, before, after)
        if motion is None:
            self._begin_anew()
            self._spent.restarts += 1
        else:
            self._scene.move(motion)
        self._scene.sight, self._scene.shape = after, arrival.image.shape

    def _decide(self, arrival: Arrival) -> int:
        """Look at once where that fits and is wanted; return what is left for between the frames."""
        if not arrival.can_be_followed:
            return NOTHING
        if self._scene.memory is None:
            self._look_now(arrival, len(self._looks) - 1)
        action = self._policy.choose(self._situation(arrival))
        done = action == NOTHING or self._look_now(arrival, action - 1)
        return NOTHING if done or self._cpu == 0 else action

    def _look_now(self, arrival: Arrival, look: int) -> bool:
        """Look at a frame before it is labelled; tell whether there was time for it."""
        clock = arrival.clock
        if not self._fits(look, clock):
            return False
        deadline = clock.ends_at - MARGIN * self._painting_ms / 1e3 if clock.has_deadline else None
        begun = time.perf_counter()
        try:
            scores = self._looks.scores(arrival.frame, look, deadline)
        except OutOfTime:
            return False
        self._note_cost(look, (time.perf_counter() - begun) * 1e3)
        self._scene.learn(memory_of(scores, self._looks.trusts[look], arrival.at_ms))
        self._scene.frames = 0
        return True

    def _fits(self, look: int, clock: Clock) -> bool:
        return MARGIN * self._costs_ms[look] + self._painting_ms < clock.remaining()

    def _note_cost(self, look: int, ms: float) -> None:
        self._costs_ms[look] += LEARNING_RATE * (ms - self._costs_ms[look])

    def _situation(self, arrival: Arrival) -> Situation:
        """What the policy decides by. Without a share of the core, it decides about looks in calls alone."""
        memory, finest_ms = self._scene.memory, self._costs_ms[-1]
        if self._cpu == 0:
            income = np.inf
            offered = [self._fits(look, arrival.clock) for look in range(len(self._looks))]
        else:
            income = self._cpu * self.interval_ms * EASE * self._credit.filled / finest_ms
            idle = not self._worker.is_busy
            offered = [idle and self._credit.pays_for(cost) for cost in self._costs_ms]
        return Situation(
            age_ms=arrival.at_ms - memory.seen_ms if memory else LONGEST_PAUSE_MS,
            moved=memory.moved if memory else 1.0,
            doubted=doubt(memory) if memory else 1.0,
            entropy=entropy(memory) if memory else float(np.log(len(self._engine.classes))),
            frames=self._scene.frames,
            income=income,
            costs=np.array([0.0, *self._costs_ms]) / finest_ms,
            offered=np.array([True, *offered]),
        )

    def _submit(self, arrival: Arrival, look: int) -> None:
        """Have a frame looked at until the next one comes."""
        looks, cost_ms = self._looks, self._costs_ms[look]
        kept = arrival.frame.copy()  # whoever made the frame may write into it once it is labelled
        self._worker.submit(lambda: looks.scores(kept, look), arrival.at_ms, cost_ms)
        self._credit.spend(cost_ms)
        self._scene.pending = Pending(look, arrival.at_ms, cost_ms)
        self._scene.frames = 0

    def _labeling(self, arrival: Arrival, confidence: bool) -> Labeling:
        memory, clock = self._scene.memory, arrival.clock
        if memory is None:
            rest = f"{max(0.0, clock.remaining()):.3f}ms" if clock.has_deadline else None
            alone = self._engine.label(arrival.image, rest, confidence=confidence)
            return replace(alone, cost=clock.elapsed(), deadline_met=_met(clock), age_ms=0.0)
        labels = self._painted(memory, arrival)
        sure = None
        if confidence:
            size = labels.shape[0], labels.shape[1]
            sure = confidence_between(shown(memory), self._engine.learned.temperature, size)
        return Labeling(
            labels,
            self._engine.classes,
            sure,
            clock.elapsed(),
            deadline_met=_met(clock),
            age_ms=arrival.at_ms - memory.seen_ms,
        )

    def _painted(self, memory: Memory, arrival: Arrival) -> NDArray[np.int16]:
        """Labels of all pixels; those shown before where nothing moved and nothing was learned since."""
        painted = self._scene.painted
        if painted is None or painted[0] is not memory:
            begun = time.perf_counter()
            size = arrival.image.shape[0], arrival.image.shape[1]
            labels = labels_of(shown(memory), arrival.frame, arrival.sight, size)
            painted = self._scene.painted = memory, labels
            self._painting_ms += LEARNING_RATE * ((time.perf_counter() - begun) * 1e3 - self._painting_ms)
        return painted[1].copy()  # what the caller does with labels is nobody else's business


def _met(clock: Clock) -> bool | None:
    return clock.elapsed() <= clock.budget if clock.has_deadline else None
