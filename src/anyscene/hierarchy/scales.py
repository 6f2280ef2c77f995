"""How many regions each layer of a tree has, and on which level of the image pyramid it is made."""

from __future__ import annotations

from functools import cache
from itertools import accumulate

LAYERS = 8
"""The layers of a full tree, with the whole image as the first."""

LADDER = (1, 4, 12, 35, 100, 300, 800, 2000)
"""The regions of each layer at 480x360."""

LADDER_PIXELS = 480 * 360

PIXELS_PER_REGION = (28,) * (LAYERS - 2) + (12, 20)
"""A layer is made on the smallest image that has this many pixels for each of its regions. Layer 6 has fewer,
so that it shares the level of layers 4 and 5: another level would cost far more than it would gain."""

SMALLEST_LEVEL = 2500
"""The least pixels of an image that a layer is made on. More would hardly make regions better."""


@cache
def region_counts(pixels: int) -> tuple[int, ...]:
    """The most regions of each layer, for an image with this many pixels.

    The finest regions have the same size in every image; the layers share the climb to one region evenly.
    """
    growth = pixels / LADDER_PIXELS
    counts = (round(count * growth ** (layer / (LAYERS - 1))) for layer, count in enumerate(LADDER))
    return tuple(accumulate(counts, max))  # counts of tiny images would fall otherwise


@cache
def layer_strides(pixels: int) -> tuple[int, ...]:
    """The side of the blocks of pixels that each layer is made of: powers of two that never rise."""
    strides = []
    for count, share in zip(region_counts(pixels), PIXELS_PER_REGION, strict=True):
        stride = 1
        while pixels >= (2 * stride) ** 2 * max(SMALLEST_LEVEL, count * share):
            stride *= 2
        strides.append(stride)
    return tuple(strides)
