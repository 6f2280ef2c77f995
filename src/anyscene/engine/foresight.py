"""What every action may take on this machine, so that only those that fit the time left are offered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anyscene.features import Bank, Work
from anyscene.features.costs import CostModel, StepCost
from anyscene.hierarchy import WORKING_LONG_SIDE, frame_size
from anyscene.learning.costing import action_costs
from anyscene.model.actions import Pool
from anyscene.model.costs import ActionCosts, Coverage
from anyscene.model.state import State

DECIDE, SPLIT, UPDATE, FRAME, PAINT = "decide", "split", "update", "frame", "paint:image"
DETAIL = "paint:detail"
WHOLE_UPDATE, WHOLE_SPLIT, WHOLE_PLAN = "action:update", "action:split", "action:plan"
OWN_STEPS = (DECIDE, SPLIT, UPDATE, FRAME, PAINT, DETAIL, WHOLE_UPDATE, WHOLE_SPLIT)
"""The engine's own steps, measured beside those of trees and features.

| step | pixels | regions |
|---|---|---|
| `decide` | | leaves to look at |
| `split` | | leaves afterwards |
| `update` | active leaves times weak learners | active leaves |
| `frame` | of the image, to be scaled to the working frame | |
| `paint:image` | of the image | |
| `paint:detail` | | leaves, in a working frame with a map that shows detail |

`action:update` and `action:split` are whole actions: hardly any exceeds `high` times what is typical and
`fixed` milliseconds more (the shortest vary most). The factors of single steps would add up to far more,
because not all of them are slow at once. `action:plan` is the same of plans, which are timed as a whole (see
`plan_prices`); its milliseconds are what they take more when caches are full of something else.
"""

REFERENCE = (360, 480)
"""Height and width of the working frame that costs are worked out for; other frames are scaled by area."""

MANY_LEAVES = 1000
"""For as many leaves is deciding charged; the kernels make fewer hardly cheaper."""

STEADY = 1.15
"""Where actions have been slow on an image, hardly any is slower still by more than this factor."""

SPARE = 1.05
"""By this factor must a plan fit that is risked: one that is stopped has cost its time and shows nothing."""

FIXED_SHARE = 0.4
"""How much of what an action takes in a frame of REFERENCE does not depend on the frame's size."""


class Most(NamedTuple):
    """What may typically be taken, so that the time there is is hardly ever exceeded.

    update, split : by an action of that kind, with what painting any state takes kept back. plan : by all
    that is left of a plan, painting included. insured : whether there should be something to show soon.
    risked : by a plan that is taken though it may well have to be stopped, see `plans.pursue`.
    """

    update: float
    split: float
    plan: float
    insured: bool = True
    risked: float = 0.0


UNLIMITED = Most(inf, inf, inf)


class AtSize(NamedTuple):
    """What does not depend on the actions, for images of one size.

    frame : height and width of the working frame.
    In milliseconds that are hardly ever exceeded: framing : making it. painting : any state, with detail in
    maps of the usual size. enlarging : labels of the working frame to the image's size.
    """

    frame: tuple[int, int]
    framing: float
    painting: float
    enlarging: float


@dataclass(frozen=True, eq=False)
class Foresight:
    """What actions cost here, in milliseconds.

    actions : what is typical in a frame of REFERENCE. calibration : where the numbers come from.
    """

    actions: ActionCosts
    calibration: CostModel

    def of_actions(
        self, state: State, pool: Pool, coverage: Coverage, frame_share: float
    ) -> NDArray[np.float64]:
        """Return what each action typically takes, float64[A]. frame_share : see `frame_share`."""
        return self.actions.of_actions(state, pool, coverage) * frame_share

    def most_that_fits(self, left: float, at: AtSize, slowness: float = 1.0) -> Most:
        """Return the largest typical costs that will hardly ever exceed `left` milliseconds.

        slowness : what actions took lately over what is typical, see `Tempo`. The factors of single actions
        allow for a slow machine; both together would count it twice.
        """
        kinds = (self.calibration.steps[step] for step in (WHOLE_UPDATE, WHOLE_SPLIT))
        update, split = (
            (left - at.painting - kind.fixed) / max(kind.high, STEADY * slowness) for kind in kinds
        )
        plan = (left - at.enlarging - self._plans.fixed) / (self.plan_high * slowness)
        # Caches may be warm; what is kept back for labels, when a network is stopped, allows for slowness.
        risked = left / (SPARE * slowness) - at.enlarging
        return Most(update, split, plan, risked=risked)

    @property
    def plan_high(self) -> float:
        """The factor by which plans hardly ever exceed what they typically take, beyond what caches cost."""
        return self._plans.high

    @cached_property
    def _plans(self) -> StepCost:
        return self.calibration.steps.get(WHOLE_PLAN, StepCost(0.0, 0.0, 0.0, 1.0))

    def typical_painting(self) -> float:
        """Return what painting the detail of a working frame typically takes."""
        return self.calibration.predict(DETAIL, regions=1)[0]


@lru_cache(maxsize=256)
def at_size(foresight: Foresight, size: tuple[int, int], shows_detail: bool) -> AtSize:
    """What images of some height and width take anyway. shows_detail : whether maps may show detail."""
    predict, pixels = foresight.calibration.predict, size[0] * size[1]
    is_large = max(size) > WORKING_LONG_SIDE
    leaves = predict(PAINT, pixels)[1]
    detail = predict(DETAIL, regions=MANY_LEAVES)[1] * frame_share(size) if shows_detail else 0.0
    return AtSize(
        frame=frame_size(size),
        framing=predict(FRAME, pixels)[1] if is_large else 0.0,  # others are used as they are
        # Detail is painted in the working frame; a larger image repeats its pixels.
        painting=leaves + detail if is_large else max(leaves, detail),
        enlarging=leaves if is_large else 0.0,
    )


def frame_share(size: tuple[int, int]) -> float:
    """What actions take in the working frame of an image of this size, relative to REFERENCE."""
    height, width = frame_size(size)
    area = height * width / (REFERENCE[0] * REFERENCE[1])
    return max(area, FIXED_SHARE + (1 - FIXED_SHARE) * area)


def foresee(calibration: CostModel, bank: Bank, branching: NDArray[np.float64]) -> Foresight:
    """Turn a calibration into the cost of every part of an action."""
    split, update = (calibration.steps[step] for step in (SPLIT, UPDATE))
    overheads = {
        "start": 0.0,
        "step": calibration.predict(DECIDE, regions=MANY_LEAVES)[0] + update.fixed,
        "region": split.per_region,
        "tree": update.per_pixel,
        "input": update.per_region,
    }

    def typical(work: Work) -> float:
        return calibration.predict(work.step, work.pixels, work.regions)[0]

    # Noise has as many regions as a frame can have.
    noise = np.random.default_rng(0).integers(0, 256, (*REFERENCE, 3), dtype=np.uint8)
    return Foresight(action_costs(bank, noise, typical, branching, overheads), calibration)
