"""`Run`: one image on its way to its labels."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from anyscene.costs.deadline import UNLIMITED, Limits, LocalCosts, costs_at_size
from anyscene.costs.slowness import Slowness
from anyscene.engine.choosing import Chooser, Moment
from anyscene.engine.clock import Clock
from anyscene.engine.evidence import LazyEvidence
from anyscene.engine.learned import Learned
from anyscene.engine.progress import Progress
from anyscene.errors import ConfigError
from anyscene.features import Bank, Ledger
from anyscene.features.hypercolumn.watchdog import OutOfTime
from anyscene.labeling import Labeling, Step
from anyscene.model.state import State
from anyscene.painting.enlarging import enlarge, find_mixed
from anyscene.painting.leaves import repeated
from anyscene.painting.show import Painted
from anyscene.policy.decision import Decision

STOPPING_MS, STOPPING_SHARE = 0.1, 0.05
"""Time kept back for stopping a network: milliseconds to wake up, and a share of the budget for the node that
is running.
"""

STOPPED = 1.2
"""An action that was stopped counts as this many times what it took, or what was expected if that is more."""

GLANCE = 4
"""The mean confidence is read off a map that is this many times smaller than the image."""


class Run:
    """One image on its way. What it shows is complete at any moment.

    image : uint8[H, W, 3], RGB. confidence : whether its labelings say how sure they are.
    steps : what was done so far. deciding_ms : the time that went to choosing actions and keeping books.
    """

    def __init__(
        self,
        learned: Learned,
        local: LocalCosts,
        chooser: Chooser,
        bank: Bank,
        image: NDArray[np.uint8],
        clock: Clock,
        slowness: Slowness,
        confidence: bool = False,
    ) -> None:
        self.clock = clock
        self.confidence = confidence
        self.steps: list[Step] = []
        self.deciding_ms = 0.0
        self._learned = learned
        self._local = local
        self._chooser = chooser
        self._bank = bank
        self.image = image
        self._slowness = slowness
        self._size = (image.shape[0], image.shape[1])
        self._at = costs_at_size(local, self._size, bool(learned.model.pool.ladder))
        self._evidence: LazyEvidence | None = None
        self._progress = Progress(learned, states_wait=not chooser.needs_state)
        # Milliseconds that the call takes besides what actions and plans were timed with.
        self._extra_ms = self._at.confidence if confidence else 0.0

    @property
    def state(self) -> State:
        """Where the run stands."""
        return self._progress.state(self._evidence)

    @property
    def taken(self) -> tuple[int, ...]:
        """The actions so far, as indices of the pool."""
        return self._progress.taken

    def finish(self, until: float | None = None) -> None:
        """Advance until nothing fits or is worth it, or until the mean confidence is `until`."""
        if until is not None:
            self._extra_ms += self._at.painting  # each look at how sure the labels are
        while not self.is_sure(until) and self.advance():
            pass

    def advance(self) -> bool:
        """Take the next action that fits and is worth it; tell whether there was one."""
        begun = self.clock.elapsed()
        moment = Moment(lambda: self.state, self.taken, self._at.frame, self._limits())
        decision = self._chooser.choose(moment)
        self.deciding_ms += self.clock.elapsed() - begun
        if decision is None:
            return False
        predicted = decision.predicted_ms + self._framing_ms
        evidence = self.look()
        framed = self.clock.elapsed()
        if self.clock.has_deadline:
            evidence.stop_at(self.clock.ends_at - self._reserve(decision) / 1e3)
        try:
            self._progress.take(decision.action, decision.cost, evidence)
        except OutOfTime:  # what was shown before the action stands
            expected = decision.predicted_ms * self._slowness.factor
            self._note(decision, STOPPED * max(self.clock.elapsed() - framed, expected))
            self._show_something(evidence, begun)
            return False
        self._note(decision, self.clock.elapsed() - framed)
        self._add_step(decision, predicted, begun)
        return True

    def _show_something(self, evidence: LazyEvidence, begun: float) -> None:
        """Take the action that gives the first labels, where a stopped one has left nothing to show."""
        first = None if self.taken else self._chooser.first_labels(self._at.frame)
        if first is not None:
            self._progress.take(first.action, first.cost, evidence)
            self._add_step(first, first.predicted_ms, begun)

    def _add_step(self, decision: Decision, predicted_ms: float, begun: float) -> None:
        ended, progress = self.clock.elapsed(), self._progress
        name = self._learned.action_names[decision.action]
        self.steps.append(Step(name, predicted_ms, ended - begun, progress.leaf_count, progress.mean_entropy))
        self.deciding_ms += self.clock.elapsed() - ended

    @property
    def spare_ms(self) -> float:
        """How long the run may wait before it must show what it has."""
        showing = (self._at.painting + self._extra_ms) * max(1.0, self._slowness.factor) + self._stopping_ms
        return self.clock.remaining() - showing

    def leave_to_others(self, share: float) -> None:
        """Use only a part of the time that is left: this share of it is for others."""
        if self.clock.has_deadline:
            self.clock = replace(self.clock, left_to_others=share * max(0.0, self.clock.remaining()))

    def look(self) -> LazyEvidence:
        """Return the evidence about the image; the first time, its working frame is made."""
        if self._evidence is None:
            self._evidence = LazyEvidence(self.image, self._bank, Ledger(time.perf_counter))
        return self._evidence

    def is_sure(self, until: float | None) -> bool:
        """Tell whether the mean confidence is at least `until`; never, if that is None."""
        if until is None:
            return False
        if not 0 <= until <= 1:
            raise ConfigError(f"until is a mean confidence between 0 and 1, found {until}")
        height, width = self._size
        glance = self._paint((max(1, height // GLANCE), max(1, width // GLANCE)))
        return float(glance.confidence().mean()) >= until

    def labeling(self) -> Labeling:
        """Paint what the run has come to at the size of the image."""
        if self._evidence is None or self._size == self._at.frame:
            painted = self._paint(self._size)
        else:
            painted = self._enlarged(self._evidence)
        confidence = painted.confidence() if self.confidence else None
        cost = self.clock.elapsed()
        return Labeling(
            labels=painted.labels,
            classes=self._learned.classes,
            confidence=confidence,
            cost=cost,
            trace=tuple(self.steps),
            deadline_met=cost <= self.clock.budget if self.clock.has_deadline else None,
            is_prior=not self.taken,
        )

    def _enlarged(self, evidence: LazyEvidence) -> Painted:
        """Paint a large image: along its own outlines if there is time, else each pixel like its frame's."""
        labels, confidence = self._paint(self._at.frame)
        pixels = self._size[0] * self._size[1]
        mixed = find_mixed(labels) if self._has_time_for_outlines(pixels, 0) else None
        if mixed is not None and self._has_time_for_outlines(pixels, round(pixels * float(mixed.mean()))):
            large = enlarge(labels, mixed, evidence.tree.image, self.image)
        else:
            large = repeated(labels, self._size)
        return Painted(large, lambda: repeated(confidence(), self._size))

    def _has_time_for_outlines(self, pixels: int, beside_outlines: int) -> bool:
        if not self.clock.has_deadline:
            return True
        needed = self._local.outlining(pixels, beside_outlines) * max(1.0, self._slowness.factor)
        return needed + (self._at.confidence if self.confidence else 0.0) <= self.clock.remaining()

    def _paint(self, size: tuple[int, int]) -> Painted:
        return self._progress.paint(self._evidence, size)

    def _note(self, decision: Decision, actual_ms: float) -> None:
        """Let the next calls know how long an action took."""
        if self.clock.has_deadline:
            self._slowness.note(decision.predicted_ms, actual_ms)

    @property
    def _framing_ms(self) -> float:
        """What the first action has to wait for: the working frame."""
        return self._at.framing if self._evidence is None else 0.0

    @property
    def _stopping_ms(self) -> float:
        return STOPPING_MS + STOPPING_SHARE * self.clock.budget

    def _reserve(self, decision: Decision) -> float:
        """The milliseconds that must be left when an action is stopped: to stop it and to paint labels."""
        rest = (decision.rest_ms or 0.0) * self._local.plan_high + self._at.enlarging
        painting = max(rest, self._at.painting) if decision.rest_ms is None else rest
        first = None if self.taken else self._chooser.first_labels(self._at.frame)
        first_ms = first.predicted_ms if first and first.action != decision.action else 0.0
        return (painting + first_ms + self._extra_ms) * max(1.0, self._slowness.factor) + self._stopping_ms

    def _limits(self) -> Limits:
        """What the next action may typically take."""
        before, limits, stopping = self._framing_ms + self._extra_ms, UNLIMITED, 0.0
        if self.clock.has_deadline:
            limits = self._local.limits(self.clock.remaining() - before, self._at, self._slowness.factor)
            stopping = self._stopping_ms
        aim = (self.clock.aim - self.clock.elapsed() - before - self._at.enlarging) / self._slowness.factor
        return Limits(
            update=min(limits.update, aim),
            split=min(limits.split, aim),
            plan=min(limits.plan - stopping, aim),
            risked=limits.risked - stopping,
            first=limits.first,
        )
