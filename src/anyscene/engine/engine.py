"""`Engine`: a learned model at work under a clock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from threading import Lock

import cv2
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from anyscene.data.classes import Classes
from anyscene.engine.carrying import Carried
from anyscene.engine.clock import Budget, Clock, parse_budget
from anyscene.engine.deciding import Decider, Decision, decider_for
from anyscene.engine.evidence import LazyEvidence
from anyscene.engine.foresight import REFERENCE, UNLIMITED, Foresight, Most, at_size
from anyscene.engine.learned import Learned
from anyscene.engine.tempo import Tempo
from anyscene.engine.trail import Trail
from anyscene.errors import ConfigError, DataError
from anyscene.features import Bank, FeatureSet, Ledger
from anyscene.features.hypercolumn.watchdog import OutOfTime
from anyscene.features.sets import SCORE_FLOOR
from anyscene.labeling import Labeling, Step
from anyscene.model.actions import Action, Pool, advance
from anyscene.model.chain import Chain
from anyscene.model.painting import (
    Detail,
    Painted,
    add_leaves,
    cell_beliefs,
    leaf_answers,
    paint_detail,
    paint_scores,
    show,
)
from anyscene.model.plans import Plan
from anyscene.model.state import State

STOPPING_MS, STOPPING_SHARE = 0.1, 0.05
"""What it takes to stop a network: to wake up for it, and the rest of a node, in parts of the budget."""

STOPPED = 1.2
"""An action that was stopped would have taken so many times what it took, or what it was expected to."""

CARRIED_CELL = 8
"""Side of the cells in which beliefs of leaves are carried, in pixels of the working frame."""

GLANCE = 4
"""How sure labels are is read off a map so many times smaller than the image."""


class Engine:
    """Labels images of any size within a budget; made by `anyscene.load`.

    Nothing of a call outlives it but how slow the machine was, so one engine serves any number of threads.
    """

    def __init__(self, learned: Learned, foresight: Foresight, bank: Bank, threads: int = 1) -> None:
        self.learned = learned
        self.foresight = foresight
        self.threads = threads
        self._bank = bank
        self._decider = decider_for(learned.model, learned.policy, foresight, learned.plans)
        self._tempo = Tempo()
        self._siblings: dict[int, Engine] = {threads: self}
        self._lock = Lock()

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
        image: NDArray[np.uint8],
        budget: Budget = None,
        threads: int | None = None,
        until: float | None = None,
    ) -> Labeling:
        """Label an image uint8[H, W, 3] as well as can be within a budget, counted from this call on.

        budget : "20ms", "1.5s", a number of milliseconds, or None: until nothing is worth its cost.
        threads : CPU threads to use, as many as the engine was made for if None; see `with_threads`.
        until : stop as soon as the mean confidence is this high.
        """
        if threads not in (None, self.threads):
            return self.with_threads(threads).label(image, budget, until=until)
        run = self.begin(image, budget)
        run.finish(until)
        return run.labeling()

    def stream(self, image: NDArray[np.uint8], budget: Budget = None) -> Iterator[Labeling]:
        """Yield ever better labelings of an image: the prior, then one after each action."""
        run = self.begin(image, budget)
        yield run.labeling()
        while run.advance():
            yield run.labeling()

    def with_threads(self, threads: int) -> Engine:
        """Return this engine for another number of threads; the first time, its sessions are made."""
        with self._lock:
            if threads not in self._siblings:
                hold_threads(threads)
                sibling = Engine(self.learned, self.foresight, self.learned.make_bank(threads), threads)
                sibling.warm_up()
                self._siblings[threads] = sibling
            return self._siblings[threads]

    def by_plan(self, plan: Plan) -> Engine:
        """Return this engine with one plan for every deadline, before which it may carry out the cheapest."""
        learned = replace(self.learned, plans=(self.learned.plans[0], plan))
        return Engine(learned, self.foresight, self._bank, self.threads)

    def warm_up(self) -> None:
        """Compile or load whatever labeling runs, by labeling noise; confidence is painted when asked for."""
        random = np.random.default_rng(0)
        for scale in (1, 3):  # as it is, and shrunk to the working frame (halving is left to OpenCV)
            size = (scale * REFERENCE[0], scale * REFERENCE[1], 3)
            noise = random.integers(0, 256, size, dtype=np.uint8)
            for budget in (None, "1min"):
                self.label(noise, budget).confidence.max()
            # A deadline may leave only actions that the policy alone would not take: each of them, from the
            # start and one after the other.
            run, model = self.begin(noise), self.learned.model
            follow = run.state
            for action in model.pool.actions:
                follow = advance(follow, action, model.pool, run.look(), 0.0)
                for state in (advance(model.start(), action, model.pool, run.look(), 0.0), follow):
                    run.show(state, size[:2]).confidence().max()
            # What a short look, and the next frame of a video, need besides.
            self.label(noise, "1min", until=1.0)
            video = self.begin(noise, "1min")
            video.finish()
            self.begin(noise, "1min", video.to_carry()).labeling().confidence.max()

    def begin(self, image: NDArray[np.uint8], budget: Budget = None, carried: Carried | None = None) -> Run:
        """Begin to label an image, to be advanced action by action.

        carried : what the frame before it showed (`Run.to_carry`), if this is one of a video.
        """
        clock = Clock(parse_budget(budget))
        if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or not image.size:
            raise DataError(
                f"an image must be uint8[H, W, 3] and not empty, found {image.dtype}{list(image.shape)}; "
                "anyscene.data.read_image reads any picture so"
            )
        if cv2.getNumThreads() != self.threads:
            cv2.setNumThreads(self.threads)  # a setting of the whole process: the latest call decides
        # Kernels are compiled for one kind of array, so every image is made to be of that kind: otherwise the
        # first that is read-only, or a view of another, would be compiled for inside its deadline.
        fixed = np.ascontiguousarray(image).view()
        fixed.flags.writeable = False
        self._tempo.begin()
        return Run(
            self.learned, self.foresight, self._decider, self._bank, fixed, clock, self._tempo, carried
        )


def hold_threads(threads: int) -> None:
    """Hold OpenCV and BLAS to so many threads, for the whole process; ONNX Runtime's belong to a session."""
    if threads < 1:
        raise ConfigError(f"labeling needs at least one thread, not {threads}")
    cv2.setNumThreads(threads)
    threadpool_limits(limits=threads)


class Run:
    """One image on its way: its state, and what was done so far. The state is complete at any moment.

    evidence : None until something was looked at. taken : the actions so far. deciding_ms : what of the time
    went to choosing actions and keeping books.
    """

    def __init__(
        self,
        learned: Learned,
        foresight: Foresight,
        decider: Decider,
        bank: Bank,
        image: NDArray[np.uint8],
        clock: Clock,
        tempo: Tempo,
        carried: Carried | None = None,
    ) -> None:
        self.clock = clock
        self.tempo = tempo
        self.carried = carried
        self.evidence: LazyEvidence | None = None
        self.steps: list[Step] = []
        self.deciding_ms = 0.0
        self.foresight = foresight
        self._learned = learned
        self._decider = decider
        self._bank = bank
        self._image = image
        self.taken: tuple[int, ...] = ()
        self._trail = Trail(learned.model.start(), learned.model.pool)
        self._plain: Chain | None = None  # the blend that the labels show, if they need no leaves
        self._is_whole = True  # whether nothing was split
        self._is_lazy = clock.has_deadline or not decider.needs_state  # whether states may wait
        # Plans were timed without what carried frames, and glances at how sure labels are, take besides.
        self._is_as_timed = carried is None
        self._size = (image.shape[0], image.shape[1])
        self._at = at_size(foresight, self._size, bool(learned.model.pool.ladder))

    @property
    def state(self) -> State:
        """Where the run stands."""
        return self._trail.state(self.evidence)

    def advance(self) -> bool:
        """Take the next action that fits and is worth it; tell whether there was one."""
        begun = self.clock.elapsed()
        most = self._most_that_fits()
        decision = self._decider.decide(lambda: self.state, self.taken, self._at.frame, most)
        self.deciding_ms += self.clock.elapsed() - begun
        if decision is None:
            return False
        action, name = self.pool.actions[decision.action], self._learned.action_names[decision.action]
        predicted = decision.predicted_ms + self._framing_left()
        evidence = self.look()
        framed = self.clock.elapsed()
        try:
            with self._step(name, predicted, begun):
                self._take(action, evidence, decision.cost, self._reserve(decision))
        except OutOfTime:  # the state before the action stands
            expected = decision.predicted_ms * self.tempo.slowness
            self._note(decision, STOPPED * max(self.clock.elapsed() - framed, expected))
            return False
        self._note(decision, self.clock.elapsed() - framed)
        self.taken = (*self.taken, decision.action)
        return True

    def _note(self, decision: Decision, actual_ms: float) -> None:
        """Let the next calls know how long an action took, where it was foretold for just such a call."""
        if self.clock.has_deadline and not self.carried:
            self.tempo.note(decision.predicted_ms, actual_ms)

    def _framing_left(self) -> float:
        """What the first action may have to wait for: the working frame."""
        return self._at.framing if self.evidence is None else 0.0

    def _reserve(self, decision: Decision) -> float:
        """What is to be left of the time when an action is stopped, for that and to paint labels."""
        rest = (decision.rest_ms or 0.0) * self.foresight.plan_high + self._at.enlarging
        needed = rest if self._is_as_timed and decision.rest_ms is not None else max(rest, self._at.painting)
        return needed * max(1.0, self.tempo.slowness) + self._stopping

    @property
    def _stopping(self) -> float:
        return STOPPING_MS + STOPPING_SHARE * self.clock.budget

    def _take(self, action: Action, evidence: LazyEvidence, cost: float, reserve: float) -> None:
        """Carry out an action; what nobody needs before the deadline is left for later."""
        if self.clock.has_deadline:
            evidence.stop_at(self.clock.ends_at - reserve / 1e3)
        blend = self._learned.plain_blends.get(action) if self._is_lazy else None
        self._trail.take(action, cost)
        try:
            if blend and self._is_whole and not self.carried:
                evidence.extract(blend, self.pool)
                self._plain = blend
            else:
                self._is_whole = len(self._trail.state(evidence).leaves) == 1
                self._plain = None
        except OutOfTime:
            self._trail.give_up()
            raise

    def finish(self, until: float | None = None) -> None:
        """Advance until nothing fits or is worth it, or the mean confidence is `until`."""
        self._is_as_timed &= until is None
        while not self.is_sure(until) and self.advance():
            pass

    def look(self) -> LazyEvidence:
        """Return the evidence about the image; the first time, its working frame is made."""
        if self.evidence is None:
            self.evidence = LazyEvidence(self._image, self._bank, Ledger(time.perf_counter))
        return self.evidence

    @contextmanager
    def _step(self, name: str, predicted_ms: float, begun: float) -> Iterator[None]:
        """Note the action that the block takes as one step of the trace."""
        yield
        ended = self.clock.elapsed()
        number = len(self.taken) + 1
        entropy = partial(self._trail.mean_entropy, self.evidence, number)
        leaves = 1 if self._is_whole else len(self.state.leaves)
        self.steps.append(
            Step(name, predicted_ms, ended - begun, leaves, entropy if self._plain else entropy())
        )
        self.deciding_ms += self.clock.elapsed() - ended

    def is_sure(self, until: float | None) -> bool:
        """Tell whether the mean confidence is at least `until`; never, if that is None."""
        if until is None:
            return False
        if not 0 <= until <= 1:
            raise ConfigError(f"until is a mean confidence between 0 and 1, found {until}")
        height, width = self._size
        glance = self._show((max(1, height // GLANCE), max(1, width // GLANCE)))
        return float(glance.confidence().mean()) >= until

    def labeling(self) -> Labeling:
        """Paint the state at the size of the image."""
        label_map, confidence = self._show(self._size)
        cost = self.clock.elapsed()
        met = cost <= self.clock.budget if self.clock.has_deadline else None
        return Labeling(label_map, confidence, self.classes, cost, tuple(self.steps), met)

    def _show(self, size: tuple[int, int]) -> Painted:
        """Paint what the run has come to."""
        if self._plain is None or self.evidence is None:
            return self.show(self.state, size)
        evidence = self.evidence
        leaves = np.zeros((1, self.pool.classes), np.float32), np.zeros(1, np.int32)
        detail = evidence.blend(self._plain, self.pool, self._trail.state(None, 0).belief[0])
        return paint_detail(detail, *leaves, evidence.tree, evidence.nodes(0), self.temperature, size)

    def show(self, state: State, size: tuple[int, int]) -> Painted:
        """Paint one of the run's states at a size (height, width)."""
        temperature, evidence = self._learned.temperature, self.evidence
        if state.steps == 0 and self.carried is not None:
            logs = cv2.log(np.maximum(self.carried.belief, SCORE_FLOOR))
            return paint_scores(logs, temperature, size)
        if evidence is None:
            labels, confidence = leaf_answers(state, temperature)
            return Painted(np.full(size, labels[0]), partial(np.full, size, confidence[0]))
        detail = self._detail(state, evidence) if len(state.maps) else None
        return show(state, evidence.tree, evidence.nodes(0), size, temperature, detail)

    def to_carry(self) -> Carried | None:
        """What the run shows at its end, for the next frame of a video; None if it knows nothing."""
        evidence, state = self.evidence, self.state
        if evidence is None or state.steps == 0:
            return self.carried
        if len(state.maps):
            scores, of_leaves, *_ = self._detail(state, evidence)
        else:
            cells = [-(-side // CARRIED_CELL) for side in evidence.tree.size]
            scores = np.zeros((*cells, self.pool.classes), np.float32)
            of_leaves = np.zeros_like(state.belief)
        of_leaf = state.log_belief - of_leaves
        shown = add_leaves(scores, of_leaf, state.leaves, evidence.tree, evidence.nodes(0))
        return Carried(cell_beliefs(shown))

    def _detail(self, state: State, evidence: LazyEvidence) -> Detail:
        """What shows detail in a state's leaves: the maps of its latest blend, and what was carried."""
        detail = evidence.detail(state, self.pool)
        if self.carried is None:
            return detail
        rows, columns = detail.scores.shape[:2]
        return detail._replace(scores=detail.scores + self.carried.log_scores((rows, columns)))

    @property
    def pool(self) -> Pool:
        """The actions that are chosen from."""
        return self._learned.model.pool

    @property
    def classes(self) -> Classes:
        """What pixels are labelled as."""
        return self._learned.classes

    @property
    def temperature(self) -> float:
        """What beliefs are tempered by to be probabilities."""
        return self._learned.temperature

    def _most_that_fits(self) -> Most:
        """The typical times of the longest actions that may be taken now."""
        if not self.clock.has_deadline:
            return UNLIMITED
        left = self.clock.remaining() - self._framing_left()
        most = self.foresight.most_that_fits(left, self._at, self.tempo.slowness)
        kept_back = self._stopping + (0.0 if self._is_as_timed else self._at.painting)
        plan, risked = most.plan - kept_back, most.risked - kept_back
        # What was carried shows more than a cheap plan does.
        return most._replace(plan=plan, risked=risked, insured=self.carried is None)
