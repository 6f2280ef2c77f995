"""`Stream`: frames in, labels out, with all that is kept from one frame to the next."""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import replace
from itertools import pairwise
from statistics import median

import numpy as np
from numpy.typing import NDArray

from anyscene.engine import Engine
from anyscene.engine.clock import Clock
from anyscene.engine.engine import fixed_image
from anyscene.errors import StreamError
from anyscene.features.hypercolumn.watchdog import OutOfTime
from anyscene.hierarchy.pyramid import working_frame
from anyscene.labeling import Labeling
from anyscene.painting.cells import repeat_cells
from anyscene.painting.confidence import confidence_between
from anyscene.streams.arrival import Arrival
from anyscene.streams.credit import Credit, Spent
from anyscene.streams.following import Follower
from anyscene.streams.looks import Looks, on_grid
from anyscene.streams.memory import Carried, Memory, memory_of, merged, shown
from anyscene.streams.motion import Sight, coarser, no_motion, sight_of
from anyscene.streams.pace import (
    DEAR_FADING,
    HANDING_OVER_MS,
    LEARNING_RATE,
    LOOK_MARGIN,
    MOVING_MS,
    PLAIN_MS,
    RESERVE_MS,
    STOPPED_RATE,
    Pace,
)
from anyscene.streams.policies import NOTHING, Situation, StreamPolicy
from anyscene.streams.restarts import LONGEST_PAUSE_MS
from anyscene.streams.scene import Pending, Scene
from anyscene.streams.showing import Painter
from anyscene.streams.spares import Spares
from anyscene.streams.workers import Worker

USUAL_INTERVAL_MS = 66.0
"""Between frames, until some have come."""

EASE = 4.0
"""Where the account is full, a policy may spend so many times what comes in."""

SAVED_UP_MS = 100.0
"""CPU time that can be saved up for later, or what two looks at the finest size take if that is more."""


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
        self._painter = Painter()
        self._spares = Spares()
        self._deciding = Pace(0.3)  # what comes after the labels
        self._follower = Follower()
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
        gaps = [after - before for before, after in pairwise(self._arrivals)]
        return median(gaps) if gaps else USUAL_INTERVAL_MS

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
        # Where no look fits before the labels, they need not wait for a decision on what is done after them.
        early = not is_new and any(self._fits(look, clock) for look in looks)
        wanted = self._choose(arrival) if early else NOTHING
        if wanted != NOTHING and self._look_now(arrival, wanted - 1):
            wanted = NOTHING
        first = self._first_labeling(arrival, confidence) if is_new and looks else None
        labeling = first or self._labeling(arrival, confidence)
        labelled = time.perf_counter()
        if looks and not early and self._scene.pending is None:
            known = self._scene.carried is not None
            wanted = self._choose(arrival) if known or not self._will_look() else len(self._looks)
        if wanted != NOTHING and self._cpu > 0:
            self._submit(arrival, wanted - 1)
        call_ms = (time.thread_time() - cpu_begun) * 1e3
        self._credit.spend(call_ms)
        self._spent.frames += 1
        self._spent.calls_ms += call_ms
        if not is_new:
            self._deciding.note((time.perf_counter() - labelled) * 1e3)
        return replace(labeling, cost=clock.elapsed(), deadline_met=_met(clock))

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
        if finished is None:
            return None
        if pending is not None:
            self._credit.spend(finished.cpu_ms - pending.expected_ms)
        if finished.memory is None or pending is None:  # of a look that was set aside, only a death is told
            self._begin_anew()
            return StreamError(
                f"a look between two frames failed ({finished.error}); "
                "the stream begins anew with the next frame"
            )
        self._scene.pending = None
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
            within_ms = self._left_ms(arrival.clock) - MOVING_MS - PLAIN_MS
            motion = self._follower.motion(before, after, within_ms)
            if motion is no_motion(after.grid):
                return
        if motion is None:
            self._begin_anew()
            self._spent.restarts += 1
        else:
            self._scene.move(motion)
        self._scene.sight, self._scene.shape = after, arrival.image.shape

    def _first_labeling(self, arrival: Arrival, confidence: bool) -> Labeling | None:
        """Look at a new scene as closely as its first call allows, and show that; None if no look fits."""
        for look in reversed(range(len(self._looks))):
            scores = self._scores_now(arrival, look)
            if scores is not None:
                if look + 1 == len(self._looks) or not self._will_look():
                    self._remember(arrival, look, scores)
                seen = coarser(arrival.sight, (scores.shape[0], scores.shape[1]))
                scores = on_grid(scores, seen.grid)
                told = memory_of(scores, self._looks.trusts[look], arrival.at_ms)
                if seen is not arrival.sight:  # in few cells, outlines take next to no time
                    told = told.along_outlines(seen)
                # Whole cells are large here, so nothing is kept back from painting between them.
                left_ms = arrival.clock.remaining() - self._deciding_ms
                labels = self._painted(Carried(told), seen, arrival, left_ms)
                return self._labeled(labels, scores if confidence else None, arrival, arrival.at_ms)
        return None

    def _will_look(self) -> bool:
        """Whether a new scene is looked at closely right after its first call: others are forgotten."""
        return self._cpu > 0 and self._credit.pays_for(self._costs_ms[-1])

    def _look_now(self, arrival: Arrival, look: int) -> bool:
        """Look at a frame before it is labelled; tell whether there was time for it."""
        scores = self._scores_now(arrival, look)
        if scores is not None:
            self._remember(arrival, look, scores)
        return scores is not None

    def _scores_now(self, arrival: Arrival, look: int) -> NDArray[np.float32] | None:
        """What a look at a frame tells, in its own cells; None if there is no time for it."""
        clock = arrival.clock
        if not self._fits(look, clock):
            self._costs_ms[look] *= DEAR_FADING
            return None
        left_ms = clock.remaining() - PLAIN_MS - self._deciding_ms
        begun = time.perf_counter()
        deadline = begun + left_ms / 1e3 if clock.has_deadline else None
        try:
            scores = self._looks.run(arrival.frame, look, deadline)
        except OutOfTime:
            self._note_cost(look, LOOK_MARGIN * left_ms, STOPPED_RATE)
            return None
        self._note_cost(look, (time.perf_counter() - begun) * 1e3)
        return scores

    def _remember(self, arrival: Arrival, look: int, scores: NDArray[np.float32]) -> None:
        """Mix what a look inside a call tells with what is believed."""
        in_cells = on_grid(scores, arrival.sight.grid)
        newer = memory_of(in_cells, self._looks.trusts[look], arrival.at_ms)
        self._scene.carried = Carried(merged(self._scene.carried, newer))
        self._scene.pending = None  # it knows nothing of this look
        self._worker.set_aside()
        self._scene.frames = 0

    def _fits(self, look: int, clock: Clock) -> bool:
        """Whether there is time for a look; the coarsest has no margin, for nothing comes instead of it."""
        margin = LOOK_MARGIN if look > 0 else 1.0
        return margin * self._costs_ms[look] + PLAIN_MS + self._deciding_ms < clock.remaining()

    @property
    def _deciding_ms(self) -> float:
        """What comes after the labels: a new scene is looked at in any case, without a decision."""
        return HANDING_OVER_MS if self._scene.carried is None else self._deciding.ms

    def _left_ms(self, clock: Clock) -> float:
        """Time for whatever comes before the next look is decided on."""
        return clock.remaining() - self._deciding_ms - RESERVE_MS

    def _note_cost(self, look: int, ms: float, rate: float = LEARNING_RATE) -> None:
        self._costs_ms[look] += rate * (ms - self._costs_ms[look])

    def _choose(self, arrival: Arrival) -> int:
        """What the policy wants. Without a share of the core, it decides about looks in calls alone."""
        carried, finest_ms = self._scene.carried, self._costs_ms[-1]
        if self._cpu == 0:
            income = math.inf
            offered = [self._fits(look, arrival.clock) for look in range(len(self._looks))]
        else:
            income = self._cpu * self.interval_ms * EASE * self._credit.filled / finest_ms
            idle = not self._worker.is_busy
            offered = [idle and self._credit.pays_for(cost) for cost in self._costs_ms]
        if not any(offered):
            return NOTHING
        situation = Situation(
            age_ms=arrival.at_ms - carried.known.seen_ms if carried else LONGEST_PAUSE_MS,
            moved=carried.moved if carried else 1.0,
            doubted=carried.doubt if carried else 1.0,
            entropy=carried.known.entropy if carried else math.log(len(self._engine.classes)),
            frames=self._scene.frames,
            income=income,
            costs=[0.0, *(cost / finest_ms for cost in self._costs_ms)],
            offered=[True, *offered],
        )
        return self._policy.choose(situation)

    def _submit(self, arrival: Arrival, look: int) -> None:
        """Have a frame looked at until the next one comes."""
        looks, cost_ms, believed = self._looks, self._costs_ms[look], self._scene.carried
        sight = arrival.sight
        kept = self._spares.copy_of(arrival.frame)  # whoever made it may write into it once it is labelled
        measure = self._follower.left_to_measure()

        def job() -> Memory:
            if measure is not None:
                measure()
            seen = memory_of(looks.scores(kept, look), looks.trusts[look], arrival.at_ms)
            self._spares.give_back(kept)
            known = merged(believed, seen).along_outlines(sight)
            _ = known.entropy, known.best  # so that no call has to compute them
            return known

        self._worker.submit(job, arrival.at_ms, cost_ms)
        self._credit.spend(cost_ms)
        self._scene.pending = Pending(look, arrival.at_ms, cost_ms)
        self._scene.frames = 0

    def _labeling(self, arrival: Arrival, confidence: bool) -> Labeling:
        carried, clock = self._scene.carried, arrival.clock
        if carried is None:
            left = max(0.0, clock.remaining() - self._deciding_ms)
            rest = f"{left:.3f}ms" if clock.has_deadline else None
            return replace(self._engine.label(arrival.image, rest, confidence=confidence), age_ms=0.0)
        labels = self._scene.labels_of(carried)
        if labels is None:
            labels = self._painted(carried, arrival.sight, arrival, self._left_ms(arrival.clock))
            self._scene.keep_labels(carried, labels)
        beliefs = shown(carried.memory) if confidence else None
        return self._labeled(labels, beliefs, arrival, carried.known.seen_ms)

    def _painted(
        self, carried: Carried, sight: Sight, arrival: Arrival, within_ms: float
    ) -> NDArray[np.int16]:
        """Labels of all pixels; those of whole cells if there is no time for more."""
        size = arrival.image.shape[0], arrival.image.shape[1]
        labels = self._painter.labels(carried, arrival.frame, sight, size, within_ms)
        return repeat_cells(carried.best(), size) if labels is None else labels

    def _labeled(
        self,
        labels: NDArray[np.int16],
        beliefs: NDArray[np.float32] | None,
        arrival: Arrival,
        seen_ms: float,
    ) -> Labeling:
        """The result. beliefs : what labels are as sure as; None if nobody asks how sure they are."""
        sure = None
        if beliefs is not None:
            size = labels.shape[0], labels.shape[1]
            sure = confidence_between(beliefs, self._engine.learned.temperature, size)
        cost = arrival.clock.elapsed()
        return Labeling(labels, self._engine.classes, sure, cost, age_ms=arrival.at_ms - seen_ms)


def _met(clock: Clock) -> bool | None:
    return clock.elapsed() <= clock.budget if clock.has_deadline else None
