"""Where things moved from one frame to the next, and where the moved image does not match the new one."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.hierarchy.pyramid import halve

CELL = 4
"""Side of the cells in which beliefs are kept and moved, in pixels of the working frame."""

SMALLEST_SIDE = 32
"""Flow is not asked for in frames with a shorter side: its patches of 8 pixels have nothing to follow."""

STILL_LEVELS = 3.0
"""Grey levels. Cells that differ by less from how they looked before show the same thing with other noise."""

MATCH_LEVELS = 10.0
"""Grey levels. A cell that differs by so much from where it came from counts half."""


@dataclass(frozen=True, eq=False)
class Sight:
    """What is kept of a frame to find motion: its greys at half size, and in cells."""

    half: NDArray[np.uint8]
    cells: NDArray[np.uint8]

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of cells."""
        return self.cells.shape[0], self.cells.shape[1]


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
    """Shrink a working frame, uint8[h, w, 3], to what motion is found by."""
    half = np.asarray(cv2.cvtColor(halve(frame), cv2.COLOR_RGB2GRAY))
    rows, columns = grid_of(frame)
    return Sight(half, np.asarray(cv2.resize(half, (columns, rows), interpolation=cv2.INTER_AREA)))


def is_still(before: Sight, after: Sight) -> bool:
    """Tell whether two frames of one size differ by noise alone."""
    return bool(_difference(before.cells, after.cells).max() < STILL_LEVELS)


def no_motion(grid: tuple[int, int]) -> Motion:
    """Everything where it was."""
    rows, columns = np.mgrid[: grid[0], : grid[1]].astype(np.float32)
    return Motion(columns, rows, np.ones(grid, np.float32), 0.0)


class MotionFinder:
    """Finds motion by OpenCV's DIS flow; it keeps buffers, so one serves one thread at a time."""

    def __init__(self) -> None:
        self._flow = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_ULTRAFAST)

    def find(self, before: Sight, after: Sight) -> Motion:
        """Find where each cell of a frame lay in the one before, of the same size."""
        flow = self._flow.calc(after.half, before.half, None)
        height, width = after.grid
        cells = cv2.resize(flow, (width, height), interpolation=cv2.INTER_AREA)
        cells *= np.float32(width / after.half.shape[1])
        still = no_motion(after.grid)
        columns, rows = still.columns + cells[..., 0], still.rows + cells[..., 1]
        moved = cv2.remap(before.cells, columns, rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        inside = (columns >= -0.5) & (columns <= width - 0.5) & (rows >= -0.5) & (rows <= height - 0.5)
        match = inside / (1 + (_difference(np.asarray(moved), after.cells) / MATCH_LEVELS) ** 2)
        speed = float(cv2.magnitude(cells[..., 0], cells[..., 1]).mean()) / width
        return Motion(columns, rows, match.astype(np.float32), speed)


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
