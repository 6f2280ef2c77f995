"""Making an engine ready: whatever a deadline must not wait for is done, and this machine is measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from anyscene.engine.calibration import with_own_steps
from anyscene.engine.clock import Clock
from anyscene.engine.deciding import Decision
from anyscene.engine.engine import Engine, Run, hold_threads
from anyscene.engine.foresight import OWN_STEPS, WHOLE_PLAN, Foresight, Most, foresee
from anyscene.engine.learned import Learned
from anyscene.engine.plan_prices import stages, work_of
from anyscene.engine.tempo import Tempo
from anyscene.features import Bank, Charge, calibration
from anyscene.features.costs import CostModel, StepCost, calibration_key, load_calibration, save_calibration
from anyscene.features.memory import keep_freed_memory
from anyscene.model.plans import Plan
from anyscene.model.state import State

ROUNDS, QUICK_ROUNDS = 6, 3
"""How often the same is timed."""

DISTANT_MS = 60_000.0
"""A deadline that every plan meets."""

HIGH_QUANTILE, HIGH_MARGIN = 0.95, 1.1
"""Hardly any plan exceeds the quantile of what was seen by more than the margin: what slows down the machine
for longer than a moment is up to `Tempo`.
"""


def prepare(learned: Learned, threads: int = 1) -> Engine:
    """Make an engine and all that a deadline must not wait for: sessions, kernels, a calibration."""
    keep_freed_memory()
    hold_threads(1)  # costs are measured, and foretold, on one thread
    bank = learned.make_bank(1)
    engine = Engine(learned, foresight_for(learned, bank), bank)
    engine.warm_up()
    return engine.with_threads(threads)


def foresight_for(learned: Learned, bank: Bank) -> Foresight:
    """What this machine takes for a model; measured, quickly, and kept where that is not known."""
    known = load_calibration(calibration_key(bank))
    if known is None or not known.steps.keys() >= _all_steps(learned):
        known = calibrate(learned, bank, quick=True, base=known)
        save_calibration(known)
    return foresee(known, bank, learned.model.costs.branching)


def calibrate(learned: Learned, bank: Bank, quick: bool = False, base: CostModel | None = None) -> CostModel:
    """Measure all that labeling with a model does; hold everything to one thread around the call.

    base : costs that are known already, of trees and features at least.
    """
    rounds, sizes = (QUICK_ROUNDS, calibration.QUICK_SIZES) if quick else (ROUNDS, calibration.SIZES)
    images = calibration.calibration_images(1, seed=1, sizes=sizes)
    steps = calibration.calibrate(bank, quick) if base is None else base
    if not steps.steps.keys() >= set(OWN_STEPS):
        steps = with_own_steps(steps, learned.model, learned.policy, bank, images, rounds)
    return with_plans(steps, learned, bank, images, rounds)


def with_plans(
    base: CostModel, learned: Learned, bank: Bank, images: Sequence[NDArray[np.uint8]], rounds: int
) -> CostModel:
    """Add what plans take, each timed whole in frames of several sizes, image after image."""
    if not learned.plans:
        return base
    foresight = foresee(base, bank, learned.model.costs.branching)
    timed = []
    for plan in learned.plans:
        label = partial(_time, learned, foresight, bank, plan)
        label(images[0])  # compiles, and warms caches
        timed += [label(image) for image in images for _ in range(rounds)]
    fitted = calibration.fit_costs([charge for run in timed for charge in run])

    def typical(run: Sequence[Charge]) -> float:
        return sum(fitted[charge.work.step].typical(charge.work) for charge in run)

    high = max(1.0, float(np.quantile([_total(run) / typical(run) for run in timed], HIGH_QUANTILE)))
    # Short plans suffer most when caches are full of something else: what the dearest one looked at.
    cold = []
    for plan in learned.plans[: -(-len(learned.plans) // 2)]:
        for image in images[:rounds]:
            _time(learned, foresight, bank, learned.plans[-1], image)
            run = _time(learned, foresight, bank, plan, image)
            cold.append(_total(run) - typical(run))
    excess = StepCost(max(0.0, float(np.median(cold))), 0.0, 0.0, high * HIGH_MARGIN)
    return CostModel(base.key, {**base.steps, **fitted, WHOLE_PLAN: excess})


def _total(run: Sequence[Charge]) -> float:
    return sum(charge.ms for charge in run)


def _time(
    learned: Learned, foresight: Foresight, bank: Bank, plan: Plan, image: NDArray[np.uint8]
) -> list[Charge]:
    """Label an image by a plan; what each of its actions took, and the rest of the call, in CPU time."""
    begun = time.thread_time()
    run = Run(learned, foresight, _Follow(plan), bank, image, Clock(DISTANT_MS), Tempo())
    ends = [begun]
    while run.advance():
        ends.append(time.thread_time())
    run.labeling()
    ended = time.thread_time()
    spent = [*np.diff(ends), ended - ends[-1]]
    frame = image.shape[0], image.shape[1]
    return [
        Charge(work_of(stage, frame), 1e3 * seconds)
        for stage, seconds in zip(stages(plan, learned.model.pool), spent, strict=True)
    ]


class _Follow:
    """Decides for one plan, whatever it takes."""

    needs_state = False

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def decide(
        self, state: Callable[[], State], taken: tuple[int, ...], frame: tuple[int, int], most: Most
    ) -> Decision | None:
        """Return the plan's next action."""
        actions, cost, place = self._plan.actions, self._plan.cost, len(taken)
        if place == len(actions):
            return None
        return Decision(actions[place], cost[place + 1] - cost[place], 0.0, 0.0)


def _all_steps(learned: Learned) -> set[str]:
    """The steps that must have been measured."""
    of_plans = {stage.step for plan in learned.plans for stage in stages(plan, learned.model.pool)}
    return {*OWN_STEPS, *of_plans, *([WHOLE_PLAN] if learned.plans else [])}
