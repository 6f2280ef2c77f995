"""Where things moved from one frame to the next, and where the moved image does not match the new one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.hierarchy.pyramid import quarter_of

CELL = 4
"""Side of the cells in which beliefs are kept and moved, in pixels of the working frame."""

SMALLEST_SIDE = 64
"""Flow is not asked for in frames with a shorter side: its patches of 8 by 8 pairs of cells do not fit."""

FINEST_SCALE = 1
"""Flow is found at half the resolution of cells; at that of cells it takes four times as long and is hardly
better."""

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


def is_still(before: Sight, after: Sight) -> bool:
    """Tell whether two frames of one size differ by noise alone."""
    return bool(_difference(before.greys, after.greys).max() < STILL_LEVELS)


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
        self._flow = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_ULTRAFAST)
        self._flow.setFinestScale(FINEST_SCALE)

    def find(self, before: Sight, after: Sight) -> Motion:
        """Find where each cell of a frame lay in the one before, of the same size."""
        flow = self._flow.calc(after.greys, before.greys, None)
        height, width = after.grid
        still = no_motion(after.grid)
        columns, rows = still.columns + flow[..., 0], still.rows + flow[..., 1]
        moved = cv2.remap(before.greys, columns, rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        unlike = _difference(np.asarray(moved), after.greys)
        unlike *= np.float32(1 / MATCH_LEVELS)
        match = np.float32(1) / (np.float32(1) + unlike * unlike)
        match *= (columns >= -0.5) & (columns <= width - 0.5) & (rows >= -0.5) & (rows <= height - 0.5)
        speed = float(cv2.magnitude(flow[..., 0], flow[..., 1]).mean()) / width
        return Motion(columns, rows, match, speed)


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


def _difference(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> NDArray[np.float32]:
    """How far greys are apart around each cell; a mean over neighbours, so that noise counts little."""
    return np.asarray(cv2.blur(cv2.absdiff(one, other).astype(np.float32), (3, 3)))
