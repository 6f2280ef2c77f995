"""Where to look closer: the crops that hold the most doubt for what they cost.

A crop is a rectangle whose scores are used, and a margin around it that the network reads for context; at the
frame's border there is nothing to read, nor would a whole run read more. Crops lie on the network's own grid
of 32 input pixels and are cut from the fitted frame, so that a crop's run sees the same pixels, at the same
scale and phase, as the run on the whole frame would.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.features.hypercolumn.network import OUTPUT_STRIDE, STRIDE, Head, Network, input_size
from anyscene.features.view import Rect

MARGINS = ((288, 128, 128), (384, 80, 80), (float("inf"), 64, 80))
"""Input pixels to read around a crop: the largest long side of a frame that each row serves, at scales up to
`FINE` and above.

Of the multiples of 16 the smallest that keep 98 % of the whole run's labels and lose at most 0.2 points, on
halves that judge each other: SIFT Flow's, Stanford Background's and CamVid's; see docs/hypercolumn.md. What a
small frame shows is less sure, so more of the context counts.
"""

FINE = 3 / 4
"""Scales above this are fine ones."""

FRACTIONS = (1 / 3, 1 / 2, 2 / 3, 5 / 6, 1.0)
"""Heights and widths to read that are tried, relative to the frame."""

SMALLEST = 0.15
"""Share of the frame that a crop keeps at least: smaller ones are mostly margin, and mostly near it."""

FIXED_CELLS = 4.0
"""What a run costs beside its area, in cells of the grid."""


class Crop(NamedTuple):
    """A rectangle of the frame, the share of all doubt inside, and its cost relative to a whole run.

    The cost is that of what is read, margin included.
    """

    rect: Rect
    held: float
    cost: float


class Reading(NamedTuple):
    """What is run to score a rectangle: a part of the fitted frame, and which of its scores are kept.

    read: in input pixels, multiples of 32. kept: in cells of the score map of what was read.
    """

    read: Rect
    kept: Rect


def margin_at(scale: float, frame: tuple[int, int]) -> int:
    """How many input pixels around a crop of a frame are read for context at a scale."""
    coarse, fine = next(margins for side, *margins in MARGINS if max(frame) <= side)
    return coarse if scale <= FINE else fine


@lru_cache(maxsize=256)
def reading(rect: Rect, frame: tuple[int, int], scale: float, squeeze: float = 1.0) -> Reading:
    """What a rung of a scale, perhaps squeezed, must read, and keep, for a rectangle of the frame.

    The kept cells are those nearest to the rectangle: exactly it (to half a pixel of the frame) for crops
    of `best_crops`, to half a cell of 4 input pixels for others.
    """
    height, width = input_size(*frame, scale, squeeze)
    margin = margin_at(scale, frame)
    top, bottom, first_row, last_row = _along(rect.top, rect.bottom, frame[0], height, margin)
    left, right, first_column, last_column = _along(rect.left, rect.right, frame[1], width, margin)
    return Reading(Rect(top, left, bottom, right), Rect(first_row, first_column, last_row, last_column))


def crop_scores(
    network: Network,
    head: Head,
    fitted: NDArray[np.uint8],
    reading: Reading,
    deadline: float | None = None,
) -> NDArray[np.float32]:
    """Scores float32[h, w, rows] of a part of the fitted frame, from a run on it and its margin."""
    read, kept = reading
    part = np.ascontiguousarray(fitted[read.top : read.bottom, read.left : read.right])
    scores = network.scores(part, head, deadline)
    return np.ascontiguousarray(scores[kept.top : kept.bottom, kept.left : kept.right])


def best_crops(
    doubt: NDArray[np.float32],
    frame: tuple[int, int],
    scale: float,
    largest: float,
    count: int = 1,
) -> tuple[Crop, ...]:
    """Up to `count` crops with the most doubt per cost, each of at most `largest` of a whole run's cost.

    A further crop counts only the doubt that those before it leave. There are fewer crops, or none, when
    nothing is in doubt or nothing is cheap enough.

    doubt: float32[h, w], how uncertain each block of the frame is, over the frame at any resolution.
    frame: (height, width). scale: of the rung that is to run on the crops.
    """
    size = input_size(*frame, scale)
    left_over = _resample(doubt, size[0] // OUTPUT_STRIDE, size[1] // OUTPUT_STRIDE)
    total = float(left_over.sum())
    crops: list[Crop] = []
    while len(crops) < count:
        found = _best_window(left_over, largest, margin_at(scale, frame) // OUTPUT_STRIDE)
        if found is None:
            break
        kept, held, cost = found
        crops.append(Crop(_to_frame(kept, left_over.shape, frame), held / total, cost))
        left_over[kept.top : kept.bottom, kept.left : kept.right] = 0
    return tuple(crops)


def _along(start: int, stop: int, frame: int, size: int, margin: int) -> tuple[int, int, int, int]:
    """Along one side of the frame: first and last pixel to read, first and last cell of those to keep."""
    first, last = round(start * size / frame / OUTPUT_STRIDE), round(stop * size / frame / OUTPUT_STRIDE)
    first = min(first, size // OUTPUT_STRIDE - 1)
    last = max(last, first + 1)
    low = max(0, (first * OUTPUT_STRIDE - margin) // STRIDE * STRIDE)
    high = min(size, -((-last * OUTPUT_STRIDE - margin) // STRIDE) * STRIDE)
    return low, high, first - low // OUTPUT_STRIDE, last - low // OUTPUT_STRIDE


def _resample(doubt: NDArray[np.float32], rows: int, columns: int) -> NDArray[np.float32]:
    """The doubt in each cell of the score map, up to a factor."""
    return np.asarray(cv2.resize(doubt, (columns, rows), interpolation=cv2.INTER_AREA))


def _best_window(doubt: NDArray[np.float32], largest: float, margin: int) -> tuple[Rect, float, float] | None:
    """The cells of a score map to keep with the most doubt per cost, the doubt in them, and the cost.

    What is read lies on the grid; what is kept may end anywhere on the score map.
    """
    step = STRIDE // OUTPUT_STRIDE
    rows, columns = doubt.shape[0] // step, doubt.shape[1] // step
    sums = _integral(doubt)
    whole = rows * columns + FIXED_CELLS
    best: tuple[Rect, float, float] | None = None
    for tall in _lengths(rows):
        top, bottom = _kept(rows, tall, margin)
        for wide in _lengths(columns):
            cost = (tall * wide + FIXED_CELLS) / whole
            if cost > largest:
                continue
            left, right = _kept(columns, wide, margin)
            bands = sums[bottom] - sums[top]
            inside = bands[:, right] - bands[:, left]
            inside[np.outer(bottom - top, right - left) < SMALLEST * doubt.size] = 0
            row, column = divmod(int(inside.argmax()), inside.shape[1])
            held = float(inside[row, column])
            if held / cost > (best[1] / best[2] if best else 0.0):
                best = Rect(top[row], left[column], bottom[row], right[column]), held, cost
    return best


def _lengths(cells: int) -> list[int]:
    return sorted({max(1, round(fraction * cells)) for fraction in FRACTIONS})


def _kept(cells: int, length: int, margin: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and last score cells to keep when `length` grid cells are read, for each place of these.

    The margin is kept where the frame ends; what has no room between its margins keeps nothing.
    """
    step = STRIDE // OUTPUT_STRIDE
    start = np.arange(cells - length + 1)
    first = np.where(start == 0, 0, np.minimum(start * step + margin, cells * step))
    last = np.where(start == cells - length, cells * step, (start + length) * step - margin)
    return first, np.maximum(first, last)


def _integral(values: NDArray[np.floating]) -> NDArray[np.float64]:
    sums = np.zeros((values.shape[0] + 1, values.shape[1] + 1))
    np.cumsum(np.cumsum(values, axis=0, dtype=np.float64), axis=1, out=sums[1:, 1:])
    return sums


def _to_frame(kept: Rect, cells: tuple[int, ...], frame: tuple[int, int]) -> Rect:
    down, across = frame[0] / cells[0], frame[1] / cells[1]
    return Rect(
        round(kept.top * down),
        round(kept.left * across),
        round(kept.bottom * down),
        round(kept.right * across),
    )
