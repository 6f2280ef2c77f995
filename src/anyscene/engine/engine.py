"""`Engine`: a learned model at work under a clock."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf
from threading import Lock
from typing import Self, cast

import cv2
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from anyscene.costs.deadline import REFERENCE, LocalCosts
from anyscene.costs.slowness import Slowness
from anyscene.data.classes import Classes
from anyscene.data.given import Given, as_rgb
from anyscene.engine.admission import Admission, usable_cores
from anyscene.engine.choosing import ample_ms, choosers_for
from anyscene.engine.clock import Budget, Clock, parse_budget
from anyscene.engine.learned import Learned
from anyscene.engine.progress import paint_state
from anyscene.engine.run import Run
from anyscene.engine.windows import Window, stitch, windows_of
from anyscene.errors import ConfigError
from anyscene.features import Bank, FeatureSet
from anyscene.features.hypercolumn.ladder import glance_at
from anyscene.forking import renew_after_fork
from anyscene.labeling import Labeling
from anyscene.model.actions import advance
from anyscene.policy.plans import Plan

logger = logging.getLogger(__name__)


class Engine:
    """Labels images of any size within a budget; made by `anyscene.load`.

    Calls share nothing but a measure of how slow the machine is, so any number of threads may use one engine.
    As many calls of `label` work at once as there are cores; calls that wait keep their deadlines.

    local : what labeling takes on this machine. threads : the CPU threads that it uses.
    """

    def __init__(self, learned: Learned, local: LocalCosts, bank: Bank, threads: int = 1) -> None:
        self.learned = learned
        self.local = local
        self.threads = threads
        self._bank = bank
        self._choosers = choosers_for(learned, local)
        self._ample_ms = ample_ms(learned, local)
        self._slowness = Slowness()
        self._siblings: dict[int, Engine] = {threads: self}
        self._admission = Admission(max(1, usable_cores() // threads))
        self._renew()
        renew_after_fork(self)

    def _renew(self) -> None:
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"Engine({len(self.classes)} classes, {len(self._bank)} feature sets, threads={self.threads})"

    @property
    def classes(self) -> Classes:
        """What pixels are labelled as."""
        return self.learned.classes

    @property
    def feature_sets(self) -> tuple[FeatureSet, ...]:
        """All that the model may look at."""
        return tuple(self._bank.values())

    def label(
        self,
        image: Given,
        budget: Budget = None,
        threads: int | None = None,
        until: float | None = None,
        confidence: bool | None = None,
        channels: str = "rgb",
        aim_ms: float = inf,
    ) -> Labeling:
        """Label an image as well as possible within a budget, counted from this call.

        image : an array uint8[H, W, 3] of any size (or grey, or with opacity), a PIL image, or a path.
        budget : "20ms", "1.5s", a number of milliseconds, or None: until nothing is worth its cost.
        threads : CPU threads to use; None means as many as the engine was made for.
        until : stop as soon as the mean confidence is this high.
        confidence : whether to say how sure each label is, which takes a part of the budget. None means yes
        where there is no budget.
        channels : the order of an array's colours: "rgb", or "bgr" for frames of OpenCV.
        aim_ms : what labeling should typically take, where that is less than the budget. What takes longer
        than usual then goes on until the budget ends. The smallest look of a network is taken in any case.

        Where there is time, a large photo gets outlines at its own resolution, and a panorama is labelled in
        windows that overlap.
        """
        engine, clock = self._with(threads), Clock(parse_budget(budget), aim=aim_ms)
        wanted = not clock.has_deadline if confidence is None else confidence
        fixed = fixed_image(image, channels)
        windows = windows_of((fixed.shape[0], fixed.shape[1]))
        if len(windows) > 1 and min(aim_ms, clock.remaining()) >= len(windows) * self._ample_ms:
            labeling = engine._label_windows(fixed, windows, clock, until, wanted)
        else:
            labeling = engine._label(fixed, clock, until, wanted)
        logger.debug("%r", labeling)
        return labeling if clock.has_deadline else replace(labeling, familiarity=self.familiarity(fixed))

    def _label(
        self, image: NDArray[np.uint8], clock: Clock, until: float | None, confidence: bool
    ) -> Labeling:
        run = self._run(image, clock, confidence)
        with self._admission.admitted(run):
            run.finish(until)
            return run.labeling()

    def _label_windows(
        self,
        image: NDArray[np.uint8],
        windows: Sequence[Window],
        clock: Clock,
        until: float | None,
        confidence: bool,
    ) -> Labeling:
        """Label each window in an equal share of the time that is left."""
        labelings = []
        for place, window in enumerate(windows):
            left = min(clock.remaining(), clock.aim - clock.elapsed())
            share = Clock(left / (len(windows) - place))
            labelings.append(self._label(fixed_image(image[window]), share, until, confidence))
        whole = stitch((image.shape[0], image.shape[1]), windows, labelings)
        cost = clock.elapsed()
        return replace(whole, cost=cost, deadline_met=cost <= clock.budget if clock.has_deadline else None)

    def familiarity(self, image: Given, channels: str = "rgb") -> float | None:
        """How much an image is like the training images, from 0 to 1; None if the model cannot say.

        Takes some milliseconds. `label` tells it as well where there is no budget.
        """
        known = self.learned.familiarity
        if known is None:
            return None
        fixed = fixed_image(image, channels)
        return known(fixed, glance_at(fixed, self._bank.values()))

    def stream(
        self,
        image: Given,
        budget: Budget = None,
        threads: int | None = None,
        until: float | None = None,
        confidence: bool | None = None,
        channels: str = "rgb",
    ) -> Iterator[Labeling]:
        """Yield ever better labelings of an image: the prior, then one after each action; see `label`.

        A panorama is labelled as a whole here, not in windows.
        """
        run = self._with(threads).begin(image, budget, confidence, channels)
        yield run.labeling()
        while not run.is_sure(until) and run.advance():
            yield run.labeling()

    def with_threads(self, threads: int) -> Self:
        """Return this engine for another number of threads; the first time, its sessions are made."""
        with self._lock:
            if threads not in self._siblings:
                hold_threads(threads)
                sibling = type(self)(self.learned, self.local, self.learned.make_bank(threads), threads)
                sibling.warm_up()
                self._siblings[threads] = sibling
            return cast(Self, self._siblings[threads])  # all are of this engine's kind

    def by_plan(self, plan: Plan) -> Engine:
        """Return an engine that follows this plan at every deadline; the cheapest plan may come first."""
        plans = (self.learned.plans[0], plan)
        learned = replace(self.learned, plans=plans, policy_ms=None)  # or a long one is left to the policy
        return Engine(learned, self.local, self._bank, self.threads)

    def begin(
        self,
        image: Given,
        budget: Budget = None,
        confidence: bool | None = None,
        channels: str = "rgb",
    ) -> Run:
        """Begin to label an image as a whole, to be advanced action by action."""
        clock = Clock(parse_budget(budget))
        wanted = not clock.has_deadline if confidence is None else confidence
        return self._run(fixed_image(image, channels), clock, wanted)

    def _run(self, image: NDArray[np.uint8], clock: Clock, confidence: bool) -> Run:
        if cv2.getNumThreads() != self.threads:
            cv2.setNumThreads(self.threads)  # a setting of the whole process: the latest call decides
        self._slowness.begin_call()
        chooser = self._choosers.for_budget(min(clock.budget, clock.aim))
        return Run(self.learned, self.local, chooser, self._bank, image, clock, self._slowness, confidence)

    def warm_up(self) -> None:
        """Compile or load whatever labeling runs, by labeling noise."""
        random = np.random.default_rng(0)
        for scale in (1, 3):  # as it is, and shrunk to the working frame (halving is left to OpenCV)
            size = (scale * REFERENCE[0], scale * REFERENCE[1], 3)
            noise = random.integers(0, 256, size, dtype=np.uint8)
            for budget in (None, "1min"):
                self.label(noise, budget, confidence=True)
            self.label(noise, "1min", until=1.0)
            self._take_every_action(noise)

    def _take_every_action(self, image: NDArray[np.uint8]) -> None:
        """Take each action from the start, and all one after the other.

        A deadline may leave only actions that the policy alone would not take.
        """
        evidence, model, size = self.begin(image).look(), self.learned.model, (image.shape[0], image.shape[1])
        latest = model.start()
        for action in model.pool.actions:
            latest = advance(latest, action, model.pool, evidence, 0.0)
            for state in (advance(model.start(), action, model.pool, evidence, 0.0), latest):
                paint_state(state, self.learned, evidence, size).confidence()

    def _with(self, threads: int | None) -> Self:
        return self if threads in (None, self.threads) else self.with_threads(threads)


def fixed_image(image: Given, channels: str = "rgb") -> NDArray[np.uint8]:
    """Return an image as uint8[H, W, 3] in one piece and read-only, or raise a DataError.

    Kernels are compiled for one kind of array, so every image is made to be of that kind: otherwise the first
    that is read-only, or a view of another, would be compiled for inside its deadline.
    """
    fixed = np.ascontiguousarray(as_rgb(image, channels)).view()
    fixed.flags.writeable = False
    return fixed


def hold_threads(threads: int) -> None:
    """Limit OpenCV and BLAS to this many threads in the whole process; ONNX Runtime's belong to a session."""
    if threads < 1:
        raise ConfigError(f"labeling needs at least one thread, not {threads}")
    cv2.setNumThreads(threads)
    threadpool_limits(limits=threads)
