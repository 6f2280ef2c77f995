"""The kernel of local binary patterns."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.generic]


@njit(cache=True, nogil=True)
def neighbour_bits(padded: Array, up: Array, down: Array, before: Array, after: Array, bits: Array) -> None:
    """Which of its eight neighbours on the unit circle are at least as bright as each pixel.

    padded: uint8[h + 2, w + 2], the image with a border of one pixel. bits: uint8[h, w], bit p is the
    neighbour at the angle of 45 p degrees, counted from the right and upwards.
    up, down: float64[h], how far below the upper of its two rows a diagonal neighbour lies. before, after:
    float64[w], the same along columns. The last digit decides ties, so the caller works these out.
    """
    rows, columns = bits.shape
    for y in range(rows):
        above, here, below = padded[y], padded[y + 1], padded[y + 2]
        u, d = up[y], down[y]
        for x in range(columns):
            b, a = before[x], after[x]
            center = np.float64(here[x + 1])
            left, right = np.float64(here[x]), np.float64(here[x + 2])
            top, bottom = np.float64(above[x + 1]), np.float64(below[x + 1])
            top_right = (1 - u) * ((1 - a) * top + a * above[x + 2]) + u * ((1 - a) * center + a * right)
            top_left = (1 - u) * ((1 - b) * above[x] + b * top) + u * ((1 - b) * left + b * center)
            low_left = (1 - d) * ((1 - b) * left + b * center) + d * ((1 - b) * below[x] + b * bottom)
            low_right = (1 - d) * ((1 - a) * center + a * right) + d * ((1 - a) * bottom + a * below[x + 2])
            code = np.uint8(right >= center)
            code |= np.uint8(top_right >= center) << 1
            code |= np.uint8(top >= center) << 2
            code |= np.uint8(top_left >= center) << 3
            code |= np.uint8(left >= center) << 4
            code |= np.uint8(low_left >= center) << 5
            code |= np.uint8(bottom >= center) << 6
            code |= np.uint8(low_right >= center) << 7
            bits[y, x] = code
