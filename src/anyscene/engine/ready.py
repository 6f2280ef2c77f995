"""Getting an engine ready: whatever a deadline must not wait for is done, and this machine is measured."""

from __future__ import annotations

import logging
from typing import TypeVar

from anyscene.costs import measuring
from anyscene.costs.calibration_file import calibration_key, load_calibration, save_calibration
from anyscene.costs.deadline import OWN_STEPS, WHOLE_PLAN, LocalCosts, local_costs
from anyscene.costs.plans import stages
from anyscene.costs.steps import CostModel
from anyscene.data.images import warm_up_reading
from anyscene.engine.engine import Engine, hold_threads
from anyscene.engine.learned import Learned
from anyscene.engine.measuring import with_own_steps, with_plans
from anyscene.errors import AnysceneError
from anyscene.features import Bank
from anyscene.features.memory import keep_freed_memory
from anyscene.files import alone

logger = logging.getLogger(__name__)

ROUNDS, QUICK_ROUNDS = 6, 3
"""How often each step is timed."""


AnyEngine = TypeVar("AnyEngine", bound=Engine)


def prepare(learned: Learned, threads: int = 1) -> Engine:
    """Make an engine and all that a deadline must not wait for: sessions, kernels, a calibration."""
    return prepare_as(Engine, learned, threads)


def prepare_as(kind: type[AnyEngine], learned: Learned, threads: int = 1) -> AnyEngine:
    """Make an engine of some kind ready, see `prepare`."""
    keep_freed_memory()
    warm_up_reading()
    hold_threads(1)  # costs are measured, and predicted, on one thread
    bank = learned.make_bank(1)
    engine = kind(learned, known_or_measured(learned, bank), bank)
    engine.warm_up()
    return engine.with_threads(threads)


def known_or_measured(learned: Learned, bank: Bank) -> LocalCosts:
    """Return what a model takes on this machine; where that is not known, it is measured and kept."""
    known = load_calibration(calibration_key(bank))
    if not _is_complete(known, learned):
        with alone("calibration"):  # processes that measured at the same time would slow each other down
            known = _measured_and_kept(learned, bank)
    assert known is not None
    return local_costs(known, bank, learned.model.costs.branching)


def _measured_and_kept(learned: Learned, bank: Bank) -> CostModel:
    known = load_calibration(calibration_key(bank))
    if known is not None and _is_complete(known, learned):
        return known  # another process was first
    logger.warning(
        "measuring what labeling takes on this machine, once for each model (this one has %d classes): "
        "about 15 seconds, a minute right after an installation; "
        "`anyscene calibrate --model NAME` does it beforehand",
        len(learned.classes),
    )
    known = calibrate(learned, bank, quick=True, base=known)
    try:
        save_calibration(known)
    except (AnysceneError, OSError) as error:
        logger.warning("what was measured cannot be kept, and will be measured again: %s", error)
    return known


def _is_complete(known: CostModel | None, learned: Learned) -> bool:
    return known is not None and known.steps.keys() >= _all_steps(learned)


def calibrate(learned: Learned, bank: Bank, quick: bool = False, base: CostModel | None = None) -> CostModel:
    """Measure all that labeling with a model does; hold everything to one thread around the call.

    base : costs that are known already, of trees and features at least.
    """
    rounds, sizes = (QUICK_ROUNDS, measuring.QUICK_SIZES) if quick else (ROUNDS, measuring.SIZES)
    images = measuring.calibration_images(1, seed=1, sizes=sizes)
    steps = measuring.calibrate(bank, quick) if base is None else base
    if not steps.steps.keys() >= set(OWN_STEPS):
        steps = with_own_steps(steps, learned.model, learned.policy, bank, images, rounds)
    return with_plans(steps, learned, bank, images, rounds)


def _all_steps(learned: Learned) -> set[str]:
    """The steps that must have been measured."""
    of_plans = {stage.step for plan in learned.plans for stage in stages(plan, learned.model.pool)}
    return {*OWN_STEPS, *of_plans, *([WHOLE_PLAN] if learned.plans else [])}
