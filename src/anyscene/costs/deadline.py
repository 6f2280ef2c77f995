"""What labeling takes on this machine, and what of it fits the time that is left."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anyscene.costs.actions import action_costs
from anyscene.costs.steps import CostModel, StepCost
from anyscene.features import Bank, Work
from anyscene.hierarchy import WORKING_LONG_SIDE, frame_size
from anyscene.model.action_costs import ActionCosts, Coverage
from anyscene.model.actions import Pool
from anyscene.model.state import State

DECIDE, SPLIT, UPDATE, FRAME, PAINT = "decide", "split", "update", "frame", "paint:image"
DETAIL, CONFIDENCE, OUTLINES = "paint:detail", "paint:confidence", "paint:outlines"
WHOLE_UPDATE, WHOLE_SPLIT, WHOLE_PLAN = "action:update", "action:split", "action:plan"
OWN_STEPS = (DECIDE, SPLIT, UPDATE, FRAME, PAINT, DETAIL, CONFIDENCE, OUTLINES, WHOLE_UPDATE, WHOLE_SPLIT)
"""The engine's own steps, measured beside those of trees and features.

| step | pixels | regions |
|---|---|---|
| `decide` | | leaves to look at |
| `split` | | leaves afterwards |
| `update` | active leaves times weak learners | active leaves |
| `frame` | of the image, to be scaled to the working frame | |
| `paint:image` | of the image | |
| `paint:detail` | | leaves, in a working frame with a map that shows detail |
| `paint:confidence` | of the image | |
| `paint:outlines` | of a large image | those of its pixels that lie beside an outline |

`action:update` and `action:split` are whole actions: hardly any exceeds `high` times what is typical and
`fixed` milliseconds more. The factors of single steps would add up to far more, because not all steps are
slow at once. `action:plan` is the same for plans, which are timed as a whole (`costs/plans.py`); its
milliseconds are what plans take more when the processor's caches are cold.
"""

REFERENCE = (360, 480)
"""Height and width of the working frame that costs are worked out for; other frames are scaled by area."""

MANY_LEAVES = 1000
"""Deciding is charged for this many leaves; fewer leaves hardly make it cheaper."""

STEADY = 1.15
"""Hardly any action is slower by more than this factor than the actions before it."""

SPARE = 1.05
"""A plan that may have to be stopped must fit with this factor to spare: stopped, it shows nothing."""

FIXED_SHARE = 0.4
"""How much of what an action takes in a frame of REFERENCE does not depend on the frame's size."""


class Limits(NamedTuple):
    """The typical milliseconds that may be spent so that the deadline is hardly ever missed.

    update, split : on an action of that kind, with time kept back for painting any state.
    plan : on the rest of a plan, painting included.
    risked : on a plan that may have to be stopped, see `plans.pursue`.
    first : on the first labels, painting included; they run no network, so nothing has to be stopped.
    """

    update: float
    split: float
    plan: float
    risked: float = 0.0
    first: float = 0.0


UNLIMITED = Limits(inf, inf, inf, inf, inf)


class SizeCosts(NamedTuple):
    """What every labeling of an image of one size takes, in milliseconds that are hardly ever exceeded.

    frame : height and width of the working frame. framing : making the working frame.
    painting : any state, with detail in maps of the usual size. enlarging : labels of the working frame to
    the image's size. confidence : a map of how sure the labels are.
    """

    frame: tuple[int, int]
    framing: float
    painting: float
    enlarging: float
    confidence: float


@dataclass(frozen=True, eq=False)
class LocalCosts:
    """What labeling takes on this machine, in milliseconds.

    actions : what is typical in a frame of REFERENCE. calibration : the measurements behind it.
    """

    actions: ActionCosts
    calibration: CostModel

    def of_actions(
        self, state: State, pool: Pool, coverage: Coverage, frame_share: float
    ) -> NDArray[np.float64]:
        """Return what each action typically takes, float64[A]. frame_share : see `frame_share`."""
        return self.actions.of_actions(state, pool, coverage) * frame_share

    def limits(self, left: float, at: SizeCosts, slowness: float = 1.0) -> Limits:
        """Return the largest typical costs that hardly ever exceed `left` milliseconds.

        slowness : what actions took lately, relative to what is typical. The factors of single actions allow
        for a slow machine already, so the larger of the two counts.
        """
        kinds = (self.calibration.steps[step] for step in (WHOLE_UPDATE, WHOLE_SPLIT))
        update, split = (
            (left - at.painting - kind.fixed) / max(kind.high, STEADY * slowness) for kind in kinds
        )
        plan = (left - at.enlarging - self._plans.fixed) / (self.plan_high * slowness)
        # Caches may be warm. What is kept back for labels when a network is stopped allows for slowness.
        risked = left / (SPARE * slowness) - at.enlarging
        return Limits(update, split, plan, risked, first=left / slowness - at.enlarging)

    def outlining(self, pixels: int, beside_outlines: int) -> float:
        """Return what labels along a large image's own outlines take, hardly ever exceeded."""
        return self.calibration.predict(OUTLINES, pixels, beside_outlines)[1]

    @property
    def plan_high(self) -> float:
        """The factor by which plans hardly ever exceed what is typical, beyond what cold caches cost."""
        return self._plans.high

    @cached_property
    def _plans(self) -> StepCost:
        return self.calibration.steps.get(WHOLE_PLAN, StepCost(0.0, 0.0, 0.0, 1.0))


@lru_cache(maxsize=256)
def costs_at_size(local: LocalCosts, size: tuple[int, int], shows_detail: bool) -> SizeCosts:
    """What every image of this height and width takes. shows_detail : whether maps may show detail."""
    predict, pixels = local.calibration.predict, size[0] * size[1]
    is_large = max(size) > WORKING_LONG_SIDE
    leaves = predict(PAINT, pixels)[1]
    detail = predict(DETAIL, regions=MANY_LEAVES)[1] * frame_share(size) if shows_detail else 0.0
    return SizeCosts(
        frame=frame_size(size),
        framing=predict(FRAME, pixels)[1] if is_large else 0.0,  # others are used as they are
        # Detail is painted in the working frame; a larger image repeats its pixels.
        painting=leaves + detail if is_large else max(leaves, detail),
        enlarging=leaves if is_large else 0.0,
        confidence=predict(CONFIDENCE, pixels)[1],
    )


def frame_share(size: tuple[int, int]) -> float:
    """What actions take in the working frame of an image of this size, relative to REFERENCE."""
    height, width = frame_size(size)
    area = height * width / (REFERENCE[0] * REFERENCE[1])
    return max(area, FIXED_SHARE + (1 - FIXED_SHARE) * area)


def local_costs(calibration: CostModel, bank: Bank, branching: NDArray[np.float64]) -> LocalCosts:
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
    return LocalCosts(action_costs(bank, noise, typical, branching, overheads), calibration)
