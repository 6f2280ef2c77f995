"""What plans take on this machine, from the call to the labels.

A deadline that is known beforehand is met by choosing a plan that fits. To add up what the parts of its
actions may take would waste half of a short budget, so plans are timed whole, as a call carries them out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from statistics import median
from typing import NamedTuple

from anyscene.costs.steps import CostModel
from anyscene.features import Work
from anyscene.features.hypercolumn.rung import Rung, rungs_among
from anyscene.model.actions import Pool, Split, begins_anew
from anyscene.policy.plans import Plan, Priced

Size = tuple[int, int]


class Stage(NamedTuple):
    """An action of a plan.

    step : its name, which lists all that was done so far; models of the same feature sets share it.
    reads : the rungs at which the network reads the frame for the first time. splits : whether it is a split.
    """

    step: str
    reads: tuple[Rung, ...]
    splits: bool


def stages(plan: Plan, pool: Pool) -> tuple[Stage, ...]:
    """The actions of a plan; the last stands for all that a call does besides them."""
    words: list[str] = []
    seen: dict[str, Rung] = {}
    found = []
    for position in plan.actions:
        action = pool.actions[position]
        new: dict[str, Rung] = {}
        if isinstance(action, Split):
            words.append(f"split {action.threshold:g}")
        else:
            used = pool.chains[action.chain].sets_of(action.size, len(pool.sets))
            sets = [name for name, is_used in zip(pool.sets, used, strict=True) if is_used]
            words.append(f"{'+'.join(sets) or 'parents'} x{action.size}")
            new = rungs_among(name for name in sets if name not in seen)
            seen |= new
        reads = tuple(new.values())
        found.append(Stage(f"plan:{' > '.join(words)}", reads, isinstance(action, Split)))
    finest = max(seen.values(), key=lambda rung: rung.area, default=None)
    return (*found, Stage(f"rest:{' > '.join(words)}", () if finest is None else (finest,), False))


def work_of(stage: Stage, frame: Size) -> Work:
    """The work of a stage in a frame: as many pixels as a network newly reads, or as the frame has."""
    read = [rung.input_size(frame) for rung in stage.reads] or [frame]
    return Work(stage.step, sum(height * width for height, width in read))


class PlanPrices:
    """What plans typically take on a machine; whatever does not depend on the frame is worked out once.

    What a split opens depends on the image, and a calibration sees few images. So a plan with splits counts
    at least as much as by the model, whose costs are means over many images, scaled to this machine.
    """

    def __init__(self, plans: Sequence[Plan], pool: Pool, calibration: CostModel) -> None:
        self._plans = plans
        self._stages = [stages(plan, pool) for plan in plans]
        self._calibration = calibration
        self._anew = [begins_anew(plan.actions, pool) for plan in plans]
        self._run_network = [any(stage.reads for stage in each) for each in self._stages]
        # For some dozen sizes of images; others are priced again.
        self.at = lru_cache(maxsize=64)(self._at)

    def _at(self, frame: Size) -> list[Priced]:
        """The plans in a frame of some height and width, from worst to best."""
        costs = [[self._typical(stage, frame) for stage in each] for each in self._stages]
        pace = median(sum(own) / plan.cost[-1] for own, plan in zip(costs, self._plans, strict=True))
        for own, each, plan in zip(costs, self._stages, self._plans, strict=True):
            if any(stage.splits for stage in each):
                own[:-1] = [max(ms, pace * cost) for ms, cost in zip(own, plan.step_costs(), strict=False)]
        return [
            Priced(plan, tuple(own[:-1]), own[-1], anew, runs_network)
            for plan, own, anew, runs_network in zip(
                self._plans, costs, self._anew, self._run_network, strict=True
            )
        ]

    def _typical(self, stage: Stage, frame: Size) -> float:
        work = work_of(stage, frame)
        return self._calibration.predict(work.step, work.pixels)[0]
