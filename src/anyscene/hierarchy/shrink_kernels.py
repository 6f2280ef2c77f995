"""Kernels that shrink images by averaging areas."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def shrink_by_area(image: Array, result: Array) -> None:
    """Shrink uint8[H, W, 3] to uint8[h, w, 3], each pixel the mean of the area that it covers, rounded.

    Neither side may grow. The result is that of OpenCV's INTER_AREA.
    """
    height, width = image.shape[0], image.shape[1] * 3
    row_firsts, row_weights = _area_weights(height, result.shape[0])
    column_firsts, column_weights = _area_weights(image.shape[1], result.shape[1])
    taps = column_weights.shape[1]
    source, target = image.reshape(height, width), result.reshape(result.shape[0], result.shape[1] * 3)
    band = np.empty(width, np.float32)  # one row of the result, as wide as the image
    for y in range(result.shape[0]):
        line, weight = source[row_firsts[y]], row_weights[y, 0]
        for i in range(width):
            band[i] = weight * np.float32(line[i])
        for t in range(1, row_weights.shape[1]):
            line, weight = source[row_firsts[y] + t], row_weights[y, t]
            for i in range(width):
                band[i] += weight * np.float32(line[i])
        if taps == 1:
            for i in range(width):
                target[y, i] = _rounded(band[i])
        elif taps == 3:  # sides shrink to a half at most; without an inner loop this is much faster
            for x in range(result.shape[1]):
                i = column_firsts[x] * 3
                a, b, c = column_weights[x, 0], column_weights[x, 1], column_weights[x, 2]
                for channel in range(3):
                    j = i + channel
                    target[y, 3 * x + channel] = _rounded(a * band[j] + b * band[j + 3] + c * band[j + 6])
        else:
            for x in range(result.shape[1]):
                i = column_firsts[x] * 3
                red, green, blue = np.float32(0), np.float32(0), np.float32(0)
                for t in range(taps):
                    weight = column_weights[x, t]
                    red += weight * band[i]
                    green += weight * band[i + 1]
                    blue += weight * band[i + 2]
                    i += 3
                target[y, 3 * x] = _rounded(red)
                target[y, 3 * x + 1] = _rounded(green)
                target[y, 3 * x + 2] = _rounded(blue)


@njit(cache=True, nogil=True)
def _area_weights(pixels: int, cells: int) -> tuple[Array, Array]:
    """The first pixel that each cell reads, and the weights of it and the next ones."""
    ratio = pixels / cells
    taps = 1 if pixels == cells else min(pixels, int(np.ceil(ratio)) + 1)
    firsts, weights = np.empty(cells, np.int64), np.empty((cells, taps), np.float32)
    for cell in range(cells):
        start, stop = cell * ratio, (cell + 1) * ratio
        firsts[cell] = min(int(start), pixels - taps)
        for t in range(taps):
            pixel = firsts[cell] + t
            weights[cell, t] = max(0.0, min(pixel + 1.0, stop) - max(float(pixel), start)) / ratio
    return firsts, weights


@njit(cache=True, nogil=True)
def _rounded(value: Any) -> Any:
    """The nearest integer, halves to the even one: beyond 1.5 * 2**23 a float32 has no fraction left."""
    shift = np.float32(12582912.0)
    return np.uint8(np.int32((value + shift) - shift))
