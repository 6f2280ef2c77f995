"""Panoramas: an image much longer than wide is labelled in windows that overlap.

As a whole it would be looked at in a frame of 480 pixels along its long side, and so of a few dozen across.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from anyscene.hierarchy import WORKING_LONG_SIDE
from anyscene.labeling import Labeling, Step

PANORAMA = 2.5
"""An image is a panorama from this ratio of its sides on; frames of cameras are below it."""

WINDOW = 1.5
"""The ratio of a window's sides, about that of photos."""

OVERLAP = 0.25
"""The share of a window that its neighbour sees too: what lies at a window's end lacks its surroundings."""

MOST_WINDOWS = 16
"""The windows of a longer panorama are larger."""

Value = TypeVar("Value", bound=np.generic)
Window = tuple[slice, slice]
"""Rows and columns."""


def windows_of(size: tuple[int, int]) -> list[Window]:
    """Return the windows of an image of (height, width), evenly spread: one unless it is a panorama."""
    along = int(size[1] > size[0])
    length, across = size[along], size[1 - along]
    if length < PANORAMA * across or length <= WORKING_LONG_SIDE:
        return [(slice(0, size[0]), slice(0, size[1]))]
    own = max(WINDOW * across, WORKING_LONG_SIDE, length / (1 + (MOST_WINDOWS - 1) * (1 - OVERLAP)))
    own = min(int(np.ceil(own)), length)
    count = 1 + int(np.ceil((length - own) / ((1 - OVERLAP) * own) - 1e-9))
    starts = np.linspace(0, length - own, count).round().astype(int).tolist()
    pieces = [(slice(start, start + own), slice(0, across)) for start in starts]
    return pieces if along == 0 else [(columns, rows) for rows, columns in pieces]


def stitch(size: tuple[int, int], windows: Sequence[Window], labelings: Sequence[Labeling]) -> Labeling:
    """Put the labelings of an image's windows together; where two overlap, each has the half that is its own.

    The steps of all windows become one trace.
    """
    along = int(size[1] > size[0])
    starts = [window[along].start for window in windows]
    stops = [window[along].stop for window in windows]
    cuts = [0, *((stop + start) // 2 for stop, start in zip(stops, starts[1:], strict=False)), size[along]]

    def put(parts: Sequence[NDArray[Value]]) -> NDArray[Value]:
        own: list[NDArray[Value]] = []
        for part, start, first, last in zip(parts, starts, cuts, cuts[1:], strict=False):
            lines = slice(first - start, last - start)
            own.append(part[:, lines] if along else part[lines])
        return np.concatenate(own, axis=along)

    sure = [labeling.confidence for labeling in labelings if labeling.confidence is not None]
    return replace(
        labelings[0],
        labels=put([labeling.labels for labeling in labelings]),
        confidence=put(sure) if sure else None,
        trace=tuple(_in_window(step, place) for place, one in enumerate(labelings, 1) for step in one.trace),
        is_prior=all(labeling.is_prior for labeling in labelings),
    )


def _in_window(step: Step, place: int) -> Step:
    return replace(step, action=f"window {place}: {step.action}")
