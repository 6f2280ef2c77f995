"""Colours of classes: made where there are none, and packed so that they can be looked up."""

from __future__ import annotations

import colorsys

import numpy as np
from numpy.typing import NDArray

GOLDEN_RATIO = 0.618033988749895


def distinct_colors(count: int) -> NDArray[np.uint8]:
    """Make colours that are easy to tell apart, uint8[count, 3]; the first ones do not depend on the count.

    Hues advance by the golden ratio, so neighbours in the list differ most; shades take turns.
    """
    shades = ((0.75, 0.95), (0.95, 0.6), (0.4, 0.95), (0.6, 0.7), (0.9, 0.4))
    colors = [
        colorsys.hsv_to_rgb(index * GOLDEN_RATIO % 1.0, *shades[index % len(shades)])
        for index in range(count)
    ]
    levels: NDArray[np.float64] = np.array(colors).reshape(count, 3) * 255
    return levels.round().astype(np.uint8)


def pack_colors(colors: NDArray[np.integer]) -> NDArray[np.int32]:
    """Turn RGB triples into one number each, 65536 r + 256 g + b: [..., 3] -> int32[...]."""
    packed: NDArray[np.int32] = colors.astype(np.int32) @ np.array([65536, 256, 1], np.int32)
    return packed
