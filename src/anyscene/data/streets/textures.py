"""Surfaces: noise, masonry, foliage, boards, all at a fixed resolution, whatever the size of the image."""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.data.streets.canvas import Color

Texture = NDArray[np.uint8]
TILE = 512


@cache
def noise_tile(roughness: float) -> NDArray[np.float32]:
    """float32[512, 512] of mean 0 and deviation 1 that repeats without seams; the same at every call.

    roughness: 0 gives blurred blotches (spectrum 1/f^2), 1 gives white noise.
    """
    white = np.random.default_rng(20_160_803).standard_normal((TILE, TILE))
    frequency = np.hypot(np.fft.fftfreq(TILE)[:, None], np.fft.rfftfreq(TILE))
    frequency[0, 0] = 1
    spectrum = np.fft.rfft2(white) * frequency ** (2 * (roughness - 1))
    spectrum[0, 0] = 0
    tile = np.fft.irfft2(spectrum, (TILE, TILE))
    scaled: NDArray[np.float32] = (tile / tile.std()).astype(np.float32)
    scaled.flags.writeable = False
    return scaled


def noise(rng: np.random.Generator, rows: int, columns: int, roughness: float) -> NDArray[np.float32]:
    """Cut a random piece (at most 512x512) out of the noise tile."""
    top, left = rng.integers(0, (TILE - rows + 1, TILE - columns + 1))
    return noise_tile(roughness)[top : top + rows, left : left + columns]


def painted(color: Color, brightness: NDArray[np.float32], *more: Texture) -> Texture:
    """Give a colour varying brightness (1 = as it is, not below 0); more channels may follow."""
    channels = [cv2.convertScaleAbs(brightness, alpha=part) for part in color.tolist()]
    return np.asarray(cv2.merge([*channels, *more]))


def masonry(rng: np.random.Generator, rows: int, columns: int, color: Color, courses: int) -> Texture:
    """A weathered wall with a joint every `courses` rows of texels (0: plain render)."""
    brightness = 1 + 0.07 * noise(rng, rows, columns, 0.3) + 0.05 * noise(rng, rows, columns, 0.8)
    if courses:
        brightness[::courses] *= 0.86
    return painted(color, np.maximum(brightness, 0))


def foliage(rng: np.random.Generator, color: Color, side: int) -> Texture:
    """A crown of leaves, uint8[side, side, 4]: a few frayed blobs run together, lit from above."""
    across = np.linspace(-1, 1, side, dtype=np.float32)
    down = across[:, None]
    blotches = noise(rng, side, side, 0.25)
    leaves = noise(rng, side, side, 0.7)
    shape = 0.45 - across**2 - down**2
    for aside, below, radius in rng.uniform((-0.55, -0.6, 0.3), (0.55, 0.5, 0.5), (rng.integers(2, 5), 3)):
        np.maximum(
            shape, radius**2 - (across - np.float32(aside)) ** 2 - (down - np.float32(below)) ** 2, out=shape
        )
    shape += rng.uniform(0.06, 0.2) * (blotches + 0.6 * leaves)
    brightness = 0.85 + 0.16 * blotches + 0.24 * leaves - 0.25 * down
    opaque = cv2.threshold(shape, 0, 255, cv2.THRESH_BINARY)[1].astype(np.uint8)
    return painted(color, np.maximum(brightness, 0.1), opaque)


def boards(rng: np.random.Generator, color: Color, length: float) -> Texture:
    """A wooden fence of upright boards, 14 texels a metre and 24 high."""
    columns = max(4, round(14 * length))
    each = 1 + 0.12 * rng.standard_normal(columns // 4 + 1).astype(np.float32)
    brightness = np.repeat(each, 4)[:columns] * np.ones((24, 1), np.float32)
    brightness[:, ::4] *= 0.6
    return painted(color, np.maximum(brightness, 0))
