"""Colours of classes: made where there are none, and packed so that they can be looked up."""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

FAR_ENOUGH = 20.0
"""Distance in CIELAB from which two colours are told apart at a glance, side by side or not."""

LEVELS = (0, 51, 102, 153, 204, 255)
"""Red, green and blue of the colours to choose from."""


def distinct_colors(count: int) -> NDArray[np.uint8]:
    """Make colours that are easy to tell apart, uint8[count, 3]; the first do not depend on the count."""
    return told_apart(np.zeros((count, 3), np.uint8))


def told_apart(palette: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Replace colours that are like an earlier one, or like the black of void, by ones that are not.

    Each is replaced by the colour that is farthest from all that are taken by then.
    """
    if not len(palette):
        return palette
    candidates = _candidates()
    places = _to_lab(candidates)
    nearest = np.linalg.norm(places - _to_lab(np.zeros((1, 3), np.uint8)), axis=1)
    chosen, taken = palette.copy(), [_to_lab(np.zeros((1, 3), np.uint8))[0]]
    kept = []
    for index, place in enumerate(_to_lab(palette)):
        if all(np.linalg.norm(place - other) >= FAR_ENOUGH for other in taken):
            taken.append(place)
            kept.append(index)
    for place in taken[1:]:
        nearest = np.minimum(nearest, np.linalg.norm(places - place, axis=1))
    for index in sorted(set(range(len(palette))) - set(kept)):
        best = int(nearest.argmax())
        chosen[index] = candidates[best]
        nearest = np.minimum(nearest, np.linalg.norm(places - places[best], axis=1))
    return chosen


@cache
def _candidates() -> NDArray[np.uint8]:
    grid = np.stack(np.meshgrid(LEVELS, LEVELS, LEVELS, indexing="ij"), axis=-1)
    return grid.reshape(-1, 3).astype(np.uint8)


def _to_lab(colors: NDArray[np.uint8]) -> NDArray[np.float32]:
    lab = cv2.cvtColor((colors.astype(np.float32) / 255)[None], cv2.COLOR_RGB2LAB)
    return np.asarray(lab[0], np.float32)


def pack_colors(colors: NDArray[np.integer]) -> NDArray[np.int32]:
    """Turn RGB triples into one number each, 65536 r + 256 g + b: [..., 3] -> int32[...]."""
    packed: NDArray[np.int32] = colors.astype(np.int32) @ np.array([65536, 256, 1], np.int32)
    return packed
