"""Where to look closer: the crop that holds the most doubt for its cost.

Crops lie on the network's own grid of 32 input pixels, so that a crop's run sees the same pixels, at the same
scale and phase, as the run on the whole frame would.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anyscene.features.hypercolumn.network import STRIDE, input_size
from anyscene.features.view import Rect

FRACTIONS = (1 / 3, 1 / 2, 2 / 3, 1.0)
"""Heights and widths that are tried, relative to the frame."""

FIXED_CELLS = 1.0
"""What a run costs beside its area, in cells of the grid."""


class Crop(NamedTuple):
    """A rectangle of the frame, the share of all doubt inside, and its cost relative to a whole run."""

    rect: Rect
    held: float
    cost: float


def best_crop(
    doubt: NDArray[np.float32], frame: tuple[int, int], scale: float, largest: float
) -> Crop | None:
    """The crop of at most `largest` of the frame's area with the most doubt per cost; None if nothing is in
    doubt.

    doubt: float32[h, w], how uncertain each block of the frame is, over the frame at any resolution.
    frame: (height, width). scale: of the rung that is to run on the crop.
    """
    rows, columns = (side // STRIDE for side in input_size(*frame, scale))
    sums = _cell_sums(doubt, rows, columns)
    total = sums[-1, -1]
    if total <= 0:
        return None
    whole = rows * columns + FIXED_CELLS
    best: tuple[float, tuple[int, int, int, int]] | None = None
    for tall in sorted({max(1, round(fraction * rows)) for fraction in FRACTIONS}):
        for wide in sorted({max(1, round(fraction * columns)) for fraction in FRACTIONS}):
            if tall * wide > largest * rows * columns:
                continue
            inside = sums[tall:, wide:] - sums[:-tall, wide:] - sums[tall:, :-wide] + sums[:-tall, :-wide]
            top, left = divmod(int(inside.argmax()), inside.shape[1])
            rate = float(inside[top, left]) / (tall * wide + FIXED_CELLS)
            if best is None or rate > best[0]:
                best = rate, (top, left, tall, wide)
    if best is None:
        return None
    rate, (top, left, tall, wide) = best
    cost = tall * wide + FIXED_CELLS
    return Crop(
        _to_frame(top, left, tall, wide, (rows, columns), frame), rate * cost / float(total), cost / whole
    )


def _cell_sums(doubt: NDArray[np.float32], rows: int, columns: int) -> NDArray[np.float64]:
    """The integral image of doubt over the grid's cells, float64[rows + 1, columns + 1]."""
    integral = np.zeros((doubt.shape[0] + 1, doubt.shape[1] + 1))
    np.cumsum(np.cumsum(doubt, axis=0, dtype=np.float64), axis=1, out=integral[1:, 1:])
    down = np.round(np.arange(rows + 1) * (doubt.shape[0] / rows)).astype(np.int64)
    across = np.round(np.arange(columns + 1) * (doubt.shape[1] / columns)).astype(np.int64)
    return integral[np.ix_(down, across)]


def _to_frame(
    top: int, left: int, tall: int, wide: int, cells: tuple[int, int], frame: tuple[int, int]
) -> Rect:
    down, across = frame[0] / cells[0], frame[1] / cells[1]
    return Rect(
        round(top * down), round(left * across), round((top + tall) * down), round((left + wide) * across)
    )
