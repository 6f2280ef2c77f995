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
from anyscene.streams.memory import Memory, doubt, entropy, merged, moved, shown
from anyscene.streams.motion import (
    SMALLEST_SIDE,
    Motion,
    MotionFinder,
    Sight,
    after_another,
    is_still,
    sight_of,
)
from anyscene.streams.policies import NOTHING, Situation, StreamPolicy
from anyscene.streams.restarts import LONGEST_PAUSE_MS, is_another_scene
from anyscene.streams.showing import labels_of
from anyscene.streams.workers import Worker

FIRST_FRAMES = 1_000
"""Frames since the last look where there was none: every period has passed."""

USUAL_INTERVAL_MS = 66.0
"""Between frames, until some have come."""

MARGIN = 1.25
"""A look may take so many times what it usually takes, and must still leave time to paint."""

EASE = 4.0
"""Where the account is full, a policy may spend so many times what comes in."""

SAVED_UP_MS = 100.0
"""CPU time that can be saved up for later, or what two looks at the finest size take if that is more."""


@dataclass(frozen=True, eq=False)
class _Pending:
    """A look under way: at which frame, and how the image moved since. motion : None if it did not."""

    look: int
    seen_ms: float
    expected_ms: float
    motion: Motion | None = None


@dataclass
class Spent:
    """What a stream spent so far: CPU milliseconds of calls and of looks. restarts : new scenes."""

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
        self._costs = list(costs_ms)
        self._painting_ms = 1.0
        self._finder = MotionFinder()
        self._arrivals: deque[float] = deque(maxlen=10)
        self._cpu = cpu
        self._credit = Credit(cpu, max(SAVED_UP_MS, 2 * costs_ms[-1]))
        self._shape: tuple[int, ...] = ()
        self._begin_anew()
        self.spent = Spent()

    def _begin_anew(self) -> None:
        """Forget everything about the scene."""
        self._worker.set_aside()
        self._memory: Memory | None = None
        self._anchor: Sight | None = None
        self._pending: _Pending | None = None
        self._frames = FIRST_FRAMES
        self._painted: tuple[Memory, NDArray[np.int16]] | None = None

    @property
    def interval_ms(self) -> float:
        """How far apart frames come, as learned from their arrival."""
        gaps = np.diff(self._arrivals)
        return float(np.median(gaps)) if len(gaps) else USUAL_INTERVAL_MS

    def label(
        self, image: NDArray[np.uint8], arrived_ms: float, clock: Clock, confidence: bool = False
    ) -> Labeling:
        """Label the frame that has just arrived.

        arrived_ms : by the clock of the stream, which the worker goes by, too. clock : of the call; it says
        when labels are due. confidence : whether to paint how sure labels are.
        """
        cpu_begun = time.thread_time()
        self._credit.earn(arrived_ms)
        image = fixed_image(image)
        frame = working_frame(image)
        sight = sight_of(frame) if min(frame.shape[:2]) >= SMALLEST_SIDE else None
        failure = self._receive(arrived_ms)
        self._follow(image.shape, sight, arrived_ms)
        if failure is not None:
            raise failure
        wanted = self._decide(frame, sight, arrived_ms, clock)
        labeling = self._labeling(image, frame, arrived_ms, clock, confidence)
        call_ms = (time.thread_time() - cpu_begun) * 1e3
        self._credit.spend(call_ms)
        self.spent.frames += 1
        self.spent.calls_ms += call_ms
        if wanted != NOTHING and sight is not None:
            self._submit(frame, wanted - 1, sight, arrived_ms)
        return labeling

    def close(self) -> None:
        """Stop looking."""
        self._worker.close()

    def _receive(self, now_ms: float) -> StreamError | None:
        """Take in the look that is done, as of the frame before the one that has come."""
        finished = self._worker.collect(now_ms)
        pending = self._pending
        if finished is None or pending is None:
            return None
        self._pending = None
        self._credit.spend(finished.cpu_ms - pending.expected_ms)
        if finished.scores is None:
            self._begin_anew()
            return StreamError(
                f"a look between two frames failed ({finished.error}); "
                "the stream begins anew with the next frame"
            )
        self.spent.looks += 1
        self.spent.looks_ms += finished.cpu_ms
        self._costs[pending.look] += 0.1 * (finished.cpu_ms - self._costs[pending.look])
        seen = self._as_seen(finished.scores, pending.look, pending.seen_ms)
        self._memory = merged(self._memory, seen if pending.motion is None else moved(seen, pending.motion))
        return None

    def _follow(self, shape: tuple[int, ...], sight: Sight | None, now_ms: float) -> None:
        """Take beliefs along to the frame that has come, or begin anew where it shows another scene."""
        paused = bool(self._arrivals) and not 0 <= now_ms - self._arrivals[-1] <= LONGEST_PAUSE_MS
        if paused:
            self._arrivals.clear()
        self._arrivals.append(now_ms)
        self._frames += 1
        known = self._anchor
        if paused or known is None or sight is None or shape != self._shape:
            self._begin_anew()
        elif is_still(known, sight):
            return
        else:
            motion = self._finder.find(known, sight)
            if is_another_scene(motion):
                self._begin_anew()
            else:
                self._take_along(motion)
        self._anchor, self._shape = sight, shape

    def _take_along(self, motion: Motion) -> None:
        if self._memory is not None:
            self._memory = moved(self._memory, motion)
        if self._pending is not None:
            before = self._pending.motion
            since = motion if before is None else after_another(before, motion)
            self._pending = replace(self._pending, motion=since)

    def _decide(self, frame: NDArray[np.uint8], sight: Sight | None, now_ms: float, clock: Clock) -> int:
        """Look at once where that fits and is wanted; return what is left for between the frames."""
        if self._memory is None and sight is not None:
            self.spent.restarts += 1
            for look in reversed(range(len(self._looks))):
                if self._fits(look, clock) and self._look_now(frame, look, sight, now_ms, clock):
                    break
        action = self._policy.choose(self._situation(now_ms))
        if action != NOTHING and sight is not None and self._fits(action - 1, clock):
            return NOTHING if self._look_now(frame, action - 1, sight, now_ms, clock) else action
        return action

    def _fits(self, look: int, clock: Clock) -> bool:
        return MARGIN * self._costs[look] + self._painting_ms < clock.remaining()

    def _look_now(
        self, frame: NDArray[np.uint8], look: int, sight: Sight, now_ms: float, clock: Clock
    ) -> bool:
        """Look at a frame before it is labelled; tell whether there was time for it."""
        deadline = clock.ends_at - MARGIN * self._painting_ms / 1e3 if clock.has_deadline else None
        begun = time.perf_counter()
        try:
            scores = self._looks.scores(frame, look, sight.grid, deadline)
        except OutOfTime:
            return False
        self._costs[look] += 0.1 * ((time.perf_counter() - begun) * 1e3 - self._costs[look])
        self._memory = merged(self._memory, self._as_seen(scores, look, now_ms))
        self._frames = 0
        return True

    def _as_seen(self, scores: NDArray[np.float32], look: int, seen_ms: float) -> Memory:
        trust = np.full(scores.shape[:2], self._looks.trusts[look], np.float32)
        return Memory(scores, trust, seen_ms)

    def _situation(self, now_ms: float) -> Situation:
        memory = self._memory
        costs = np.array([0.0, *self._costs])
        idle = not self._worker.is_busy
        offered = np.array([True, *(idle and self._credit.pays_for(cost) for cost in self._costs)])
        return Situation(
            age_ms=now_ms - memory.seen_ms if memory else LONGEST_PAUSE_MS,
            moved=memory.moved if memory else 1.0,
            doubted=doubt(memory) if memory else 1.0,
            entropy=entropy(memory) if memory else float(np.log(len(self._engine.classes))),
            frames=self._frames,
            income_ms=self._cpu * self.interval_ms * EASE * self._credit.filled,
            costs_ms=costs,
            offered=offered,
        )

    def _submit(self, frame: NDArray[np.uint8], look: int, sight: Sight, now_ms: float) -> None:
        """Have a frame looked at until the next one comes."""
        looks, grid, cost = self._looks, sight.grid, self._costs[look]
        kept = frame.copy()  # whoever made the frame may write into it once it is labelled
        self._worker.submit(lambda: looks.scores(kept, look, grid), now_ms, cost)
        self._credit.spend(cost)
        self._pending = _Pending(look, now_ms, cost)
        self._frames = 0

    def _labeling(
        self,
        image: NDArray[np.uint8],
        frame: NDArray[np.uint8],
        now_ms: float,
        clock: Clock,
        confidence: bool,
    ) -> Labeling:
        memory = self._memory
        if memory is None:
            rest = f"{max(0.0, clock.remaining()):.3f}ms" if clock.has_deadline else None
            alone = self._engine.label(image, rest, confidence=confidence)
            return replace(alone, cost=clock.elapsed(), deadline_met=_met(clock), age_ms=0.0)
        size = (image.shape[0], image.shape[1])
        if self._painted is not None and self._painted[0] is memory and not confidence:
            labels = self._painted[1].copy()  # nothing moved and nothing was learned since
        else:
            begun = time.perf_counter()
            beliefs = shown(memory)
            labels = labels_of(beliefs, frame, size)
            self._painting_ms += 0.1 * ((time.perf_counter() - begun) * 1e3 - self._painting_ms)
            self._painted = memory, labels.copy()
        sure = (
            confidence_between(shown(memory), self._engine.learned.temperature, size) if confidence else None
        )
        age = now_ms - memory.seen_ms
        return Labeling(
            labels, self._engine.classes, sure, clock.elapsed(), deadline_met=_met(clock), age_ms=age
        )


def _met(clock: Clock) -> bool | None:
    return clock.elapsed() <= clock.budget if clock.has_deadline else None
