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
from anyscene.painting.cells import labels_by_cells
from anyscene.painting.confidence import confidence_between
from anyscene.streams.credit import Credit
from anyscene.streams.looks import Looks
from anyscene.streams.memory import Carried, Memory, memory_of, merged, shown
from anyscene.streams.motion import (
    SMALLEST_SIDE,
    MotionFinder,
    Sight,
    is_still,
    sight_of,
)
from anyscene.streams.policies import NOTHING, Situation, StreamPolicy
from anyscene.streams.restarts import LONGEST_PAUSE_MS, motion_within_scene
from anyscene.streams.scene import Pending, Scene
from anyscene.streams.showing import labels_of
from anyscene.streams.workers import Worker

USUAL_INTERVAL_MS = 66.0
"""Between frames, until some have come."""

MARGIN = 1.25
"""A look may take so many times what it usually takes."""

PAINTING_MARGIN = 1.1
"""Painting along outlines may; it takes much the same each time."""

PLAIN_MS = 0.3
"""What must be left for labels at least: those of whole cells."""

EASE = 4.0
"""Where the account is full, a policy may spend so many times what comes in."""

SAVED_UP_MS = 100.0
"""CPU time that can be saved up for later, or what two looks at the finest size take if that is more."""

FADING = 0.998
"""What is too dear is believed to cost a little less each time, so that it is tried again at some time."""

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
        looks = range(len(self._looks)) if arrival.can_be_followed else ()
        is_new = self._scene.carried is None
        if is_new and looks:
            self._look_at_once(arrival)
        # Where no look fits before the labels, they need not wait for a decision on what is done after them.
        early = not is_new and any(self._fits(look, clock) for look in looks)
        wanted = self._choose(arrival) if early else NOTHING
        if wanted != NOTHING and self._look_now(arrival, wanted - 1):
            wanted = NOTHING
        labeling = self._labeling(arrival, confidence)
        if looks and not early:
            wanted = self._choose(arrival)
        call_ms = (time.thread_time() - cpu_begun) * 1e3
        self._credit.spend(call_ms)
        self._spent.frames += 1
        self._spent.calls_ms += call_ms
        if wanted != NOTHING and self._cpu > 0:
            self._submit(arrival, wanted - 1)
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
        if finished.memory is None:
            self._begin_anew()
            return StreamError(
                f"a look between two frames failed ({finished.error}); "
                "the stream begins anew with the next frame"
            )
        self._spent.looks += 1
        self._note_cost(pending.look, finished.cpu_ms)
        self._scene.carried = Carried(finished.memory, pending.motion)
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

    def _look_at_once(self, arrival: Arrival) -> None:
        """Look at a new scene as closely as its first call allows."""
        for look in reversed(range(len(self._looks))):
            if self._look_now(arrival, look):
                return

    def _look_now(self, arrival: Arrival, look: int) -> bool:
        """Look at a frame before it is labelled; tell whether there was time for it."""
        clock = arrival.clock
        if not self._fits(look, clock):
            return False
        deadline = clock.ends_at - PLAIN_MS / 1e3 if clock.has_deadline else None
        begun = time.perf_counter()
        try:
            scores = self._looks.scores(arrival.frame, look, deadline)
        except OutOfTime:
            return False
        self._note_cost(look, (time.perf_counter() - begun) * 1e3)
        newer = memory_of(scores, self._looks.trusts[look], arrival.at_ms)
        self._scene.carried = Carried(merged(self._scene.memory, newer))
        self._scene.pending = None  # it knows nothing of this look
        self._worker.set_aside()
        self._scene.frames = 0
        return True

    def _fits(self, look: int, clock: Clock) -> bool:
        return MARGIN * self._costs_ms[look] + PLAIN_MS < clock.remaining()

    def _note_cost(self, look: int, ms: float) -> None:
        self._costs_ms[look] += LEARNING_RATE * (ms - self._costs_ms[look])

    def _choose(self, arrival: Arrival) -> int:
        """What the policy wants. Without a share of the core, it decides about looks in calls alone."""
        memory, finest_ms = self._scene.memory, self._costs_ms[-1]
        if self._cpu == 0:
            income = np.inf
            offered = [self._fits(look, arrival.clock) for look in range(len(self._looks))]
        else:
            income = self._cpu * self.interval_ms * EASE * self._credit.filled / finest_ms
            idle = not self._worker.is_busy
            offered = [idle and self._credit.pays_for(cost) for cost in self._costs_ms]
        if not any(offered):
            return NOTHING
        situation = Situation(
            age_ms=arrival.at_ms - memory.seen_ms if memory else LONGEST_PAUSE_MS,
            moved=memory.moved if memory else 1.0,
            doubted=memory.doubt if memory else 1.0,
            entropy=memory.entropy if memory else float(np.log(len(self._engine.classes))),
            frames=self._scene.frames,
            income=income,
            costs=np.array([0.0, *self._costs_ms]) / finest_ms,
            offered=np.array([True, *offered]),
        )
        return self._policy.choose(situation)

    def _submit(self, arrival: Arrival, look: int) -> None:
        """Have a frame looked at until the next one comes."""
        looks, cost_ms, believed = self._looks, self._costs_ms[look], self._scene.memory
        kept = arrival.frame.copy()  # whoever made the frame may write into it once it is labelled

        def job() -> Memory:
            seen = memory_of(looks.scores(kept, look), looks.trusts[look], arrival.at_ms)
            return merged(believed, seen)

        self._worker.submit(job, arrival.at_ms, cost_ms)
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
        """Labels of all pixels; those shown before where nothing moved and nothing was learned since.

        They follow outlines where there is time for that.
        """
        painted, size = self._scene.painted, (arrival.image.shape[0], arrival.image.shape[1])
        if painted is None or painted[0] is not memory:
            if PAINTING_MARGIN * self._painting_ms > arrival.clock.remaining():
                self._painting_ms *= FADING
                return labels_by_cells(memory.scores, memory.scores.shape[2], size)
            begun = time.perf_counter()
            labels = labels_of(shown(memory), arrival.frame, arrival.sight, size)
            painted = self._scene.painted = memory, labels
            self._painting_ms += LEARNING_RATE * ((time.perf_counter() - begun) * 1e3 - self._painting_ms)
        return painted[1].copy()  # what the caller does with labels is nobody else's business


def _met(clock: Clock) -> bool | None:
    return clock.elapsed() <= clock.budget if clock.has_deadline else None
