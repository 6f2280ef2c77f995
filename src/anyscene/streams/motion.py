"""Where things moved from one frame to the next, and where the moved image does not match the new one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.hierarchy.pyramid import quarter_of
from anyscene.streams import kernels

CELL = 4
"""Side of the cells in which beliefs are kept and moved, in pixels of the working frame."""

SMALLEST_SIDE = 64
"""Flow is not asked for in frames with a shorter side: its patches of 8 by 8 pairs of cells do not fit."""

FINE, ROUGH = (0, 6), (1, 4)
"""How often cells are halved before flow is found, and how many cells its patches are apart. Rough flow takes
half the time, and loses thin things before what is far behind them:
docs/research/2026-11-18-streams-aging.md."""

SHADES = 64
"""Shades of grey that are told apart where frames are compared as a whole."""

STILL_LEVELS = 3.0
"""Grey levels. Cells that differ by less from how they looked before show the same thing with other noise."""

MATCH_LEVELS = 10.0
"""Grey levels. A cell that differs by so much from where it came from counts half."""


@dataclass(frozen=True, eq=False)
class Sight:
    """What a frame shows in cells: colors, uint8[h, w, 3], and greys, uint8[h, w]."""

    colors: NDArray[np.uint8]
    greys: NDArray[np.uint8]

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of cells."""
        return self.greys.shape[0], self.greys.shape[1]

    @cached_property
    def shades(self) -> NDArray[np.float32]:
        """The share of cells of each of SHADES shades, smoothed: a little more light changes it a little."""
        counts = cv2.calcHist([self.greys], [0], None, [SHADES], [0, 256])
        return np.asarray(cv2.blur(counts, (1, 9)), np.float32) / np.float32(self.greys.size)


@dataclass(frozen=True, eq=False)
class Motion:
    """Where each cell of a frame lay in an earlier one.

    columns, rows : float32[h, w], in cells of the earlier frame. match : float32[h, w], from 1 where the
    cells look alike down to 0; it is 0 where a cell lay outside the earlier frame. speed : the mean way, in
    widths of the frame.
    """

    columns: NDArray[np.float32]
    rows: NDArray[np.float32]
    match: NDArray[np.float32]
    speed: float


def grid_of(frame: NDArray[np.uint8]) -> tuple[int, int]:
    """Rows and columns of cells in a working frame."""
    return -(-frame.shape[0] // CELL), -(-frame.shape[1] // CELL)


def sight_of(frame: NDArray[np.uint8]) -> Sight:
    """Shrink a working frame, uint8[h, w, 3], to its cells."""
    colors = quarter_of(frame)
    return Sight(colors, np.asarray(cv2.cvtColor(colors, cv2.COLOR_RGB2GRAY)))


def coarser(sight: Sight, grid: tuple[int, int]) -> Sight:
    """The sight in fewer cells, or as it is where it has fewer than a grid of (rows, columns)."""
    if grid[0] >= sight.grid[0] or grid[1] >= sight.grid[1]:
        return sight
    colors, greys = (
        np.asarray(cv2.resize(cells, (grid[1], grid[0]), interpolation=cv2.INTER_AREA), np.uint8)
        for cells in (sight.colors, sight.greys)
    )
    return Sight(colors, greys)


def is_still(before: Sight, after: Sight) -> bool:
    """Tell whether two frames of one size differ by noise alone."""
    return not kernels.differ(before.greys, after.greys, STILL_LEVELS)


@cache
def no_motion(grid: tuple[int, int]) -> Motion:
    """Everything where it was."""
    rows, columns = np.mgrid[: grid[0], : grid[1]].astype(np.float32)
    still = Motion(columns, rows, np.ones(grid, np.float32), 0.0)
    for shared in (still.columns, still.rows, still.match):
        shared.flags.writeable = False
    return still


class MotionFinder:
    """Finds motion by OpenCV's DIS flow; it keeps buffers, so one serves one thread at a time."""

    def __init__(self) -> None:
        self._fine, self._rough = _flow_at(*FINE), _flow_at(*ROUGH)

    def find(self, before: Sight, after: Sight, fine: bool = True) -> Motion:
        """Find where each cell of a frame lay in the one before, of the same size.

        fine : whether to follow thin things, too, which takes longer.
        """
        flow = (self._fine if fine else self._rough).calc(after.greys, before.greys, None)
        return _motion_by(flow, before, after)


def going_on(motion: Motion, before: Sight, after: Sight) -> Motion:
    """The motion between two frames if all goes on as it moved before; its match tells whether it does."""
    still = no_motion(after.grid)
    flow = np.dstack([motion.columns - still.columns, motion.rows - still.rows])
    return _motion_by(flow, before, after)


def _motion_by(flow: NDArray[np.float32], before: Sight, after: Sight) -> Motion:
    """The motion between two frames by the way of each cell to where it lay, float32[h, w, 2]."""
    columns, rows, unlike, match = (np.empty(after.grid, np.float32) for _ in range(4))
    way = kernels.follow(flow, before.greys, after.greys, columns, rows, unlike)
    kernels.match(columns, rows, _smoothed(unlike), MATCH_LEVELS, match)
    return Motion(columns, rows, match, way / after.grid[1])


def _flow_at(scale: int, stride: int) -> cv2.DISOpticalFlow:
    flow = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_ULTRAFAST)
    flow.setFinestScale(scale)
    flow.setPatchStride(stride)
    return flow


def after_another(first: Motion, second: Motion) -> Motion:
    """Two motions in a row as one: where each cell of the newest frame lay in the oldest."""
    return Motion(
        move(first.columns, second),
        move(first.rows, second),
        move(first.match, second) * second.match,
        first.speed + second.speed,
    )


def move(values: NDArray[np.float32], motion: Motion) -> NDArray[np.float32]:
    """Take values of cells, float32[h, w] or float32[h, w, n], along; beyond the border they go on."""
    moved = cv2.remap(values, motion.columns, motion.rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(moved, np.float32)


def _smoothed(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """A mean over neighbours, so that noise counts little."""
    return np.asarray(cv2.blur(values, (3, 3)))
