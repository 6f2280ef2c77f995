"""Carrying what one frame of a video showed over to the next."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anyscene.engine.engine import Run
from anyscene.model.actions import split
from anyscene.model.kernels import BELIEF_FLOOR
from anyscene.model.painting import Painter

CELL = 8
"""Side of the cells that beliefs are carried in, in pixels of the working frame."""

LAYER = 4
"""The next frame starts from the regions of this layer: about a hundred."""

OPENS_ALL = -1.0
"""A threshold that every leaf's entropy is above."""

TRUST = 0.5
"""Power that carried beliefs are raised to: things move, and evidence must not count twice."""


@dataclass(frozen=True, eq=False)
class Carried:
    """Beliefs at each place of a frame, float32[rows, columns, C]."""

    belief: NDArray[np.float32]

    @classmethod
    def of(cls, run: Run) -> Carried | None:
        """What a run believes at its end; None if it did not even look at the image."""
        if run.evidence is None:
            return None
        tree = run.evidence.tree
        cells = (-(-tree.size[0] // CELL), -(-tree.size[1] // CELL))
        rows = np.arange(len(run.state.leaves), dtype=np.int32)
        leaf = Painter(tree, run.evidence.nodes(0), run.state.leaves, cells)(rows)
        return cls(run.state.belief[leaf])


def carry_over(run: Run, carried: Carried) -> None:
    """Let a run that has not begun start from the regions of LAYER, believing what was carried.

    Where the budget is too small for that, nothing is done.
    """
    costs = run.foresight.actions
    predicted = float(costs.grow[: LAYER + 1].sum() + LAYER * costs.step) * run.frame_share
    if not run.fits(predicted):
        return
    with run.step("carry", predicted):
        evidence = run.look()
        state = run.state
        for _ in range(LAYER):
            state = split(state, OPENS_ALL, run.pool, evidence)
        start = evidence.nodes(LAYER).start[LAYER]
        belief = _by_region(carried, evidence.tree.region_map(LAYER))[state.leaves - start] ** TRUST
        belief = np.maximum(belief / belief.sum(axis=1, keepdims=True), BELIEF_FLOOR)
        belief /= belief.sum(axis=1, keepdims=True)
        run.state = replace(state, belief=belief, parent_belief=belief, cost=state.cost + predicted)


def _by_region(carried: Carried, regions: NDArray[np.int32]) -> NDArray[np.float32]:
    """Mean belief inside each region, float32[n, C]. regions : the region of each block of a grid."""
    rows, columns = (
        np.arange(blocks) * cells // blocks
        for blocks, cells in zip(regions.shape, carried.belief.shape, strict=False)
    )
    flat = carried.belief[rows[:, None], columns].reshape(regions.size, -1)
    counts = np.bincount(regions.ravel())
    sums = np.stack([np.bincount(regions.ravel(), channel) for channel in flat.T], axis=1)
    return (sums / counts[:, None]).astype(np.float32)
