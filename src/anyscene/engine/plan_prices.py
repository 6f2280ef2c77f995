"""What plans take on this machine, from the call to the labels.

A deadline that is known beforehand is met by choosing a plan that fits. To add up what the parts of its
actions may take would waste half of a short budget, so plans are timed whole, as a call carries them out.
"""

from __future__ import annotations

from typing import NamedTuple

from anyscene.features import Work
from anyscene.features.costs import CostModel
from anyscene.features.hypercolumn.network import input_size
from anyscene.features.hypercolumn.rungs import NETWORK, size_of_name
from anyscene.model.actions import Pool, Split, begins_anew
from anyscene.model.plans import Plan, Priced

Size = tuple[int, int]


class PlanWork(NamedTuple):
    """The work of a plan: of each action, and of all that the call does besides."""

    actions: tuple[Work, ...]
    rest: Work


def plan_work(plan: Plan, pool: Pool, frame: Size) -> PlanWork:
    """The work of a plan in a frame of some height and width.

    Steps are named after all that was looked at so far, so that they are the same in models of the same sets.
    Their size is that of what a network newly reads, or of the frame where none does.
    """
    area = frame[0] * frame[1]
    words: list[str] = []
    reads: dict[str, int] = {}
    actions = []
    for position in plan.actions:
        action = pool.actions[position]
        newly = 0
        if isinstance(action, Split):
            words.append(f"split {action.threshold:g}")
        else:
            used = pool.chains[action.chain].sets_of(action.size, len(pool.sets))
            sets = [name for name, is_used in zip(pool.sets, used, strict=True) if is_used]
            words.append(f"{'+'.join(sets) or 'parents'} x{action.size}")
            rungs = [name for name in sets if name.startswith(f"{NETWORK}@") and name not in reads]
            reads |= {name: _read_pixels(name, frame) for name in rungs}
            newly = sum(reads[name] for name in rungs)
        actions.append(Work(f"plan:{' > '.join(words)}", newly or area))
    return PlanWork(tuple(actions), Work(f"rest:{' > '.join(words)}", max(reads.values(), default=area)))


def price(plan: Plan, pool: Pool, frame: Size, calibration: CostModel) -> Priced:
    """A plan with what its steps typically take in a frame of some height and width."""
    work = plan_work(plan, pool, frame)
    *costs, rest = (calibration.predict(each.step, each.pixels)[0] for each in (*work.actions, work.rest))
    return Priced(plan, tuple(costs), rest, begins_anew(plan.actions, pool))


def _read_pixels(rung: str, frame: Size) -> int:
    height, width = input_size(*frame, *size_of_name(rung))
    return height * width
