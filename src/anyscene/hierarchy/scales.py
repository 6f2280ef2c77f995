"""How many regions each layer of a tree has, and on which level of the image pyramid it is made."""

from __future__ import annotations

from functools import cache
from itertools import accumulate

LAYERS = 8
"""Layers of a full tree, the whole image among them."""

LADDER = (1, 4, 12, 35, 100, 300, 800, 2000)
"""Regions of each layer at 480x360."""

LADDER_PIXELS = 480 * 360

PIXELS_PER_REGION = (28,) * (LAYERS - 2) + (12, 20)
"""A layer is made on the smallest image that has this many pixels for each of its regions (fewer for layer 6,
so that it shares the level of layers 4 and 5: another level would cost far more than it would gain)..."""

SMALLEST_LEVEL = 2500
"""...and this many in all. More would not raise what regions can achieve by half a point."""


@cache
def region_counts(pixels: int) -> tuple[int, ...]:
    """Most regions of each layer for an image of so many pixels.

    Finest regions have the same size in every image; the layers share the climb to
    one region evenly.
    """
    growth = pixels / LADDER_PIXELS
    counts = (round(count * growth ** (layer / (LAYERS - 1))) for layer, count in enumerate(LADDER))
    return tuple(accumulate(counts, max))  # which the counts of tiny images need


@cache
def layer_strides(pixels: int) -> tuple[int, ...]:
    """Side of the blocks of pixels that each layer is made of: powers of two, never rising with the layer."""
    strides = []
    for count, share in zip(region_counts(pixels), PIXELS_PER_REGION, strict=True):
        stride = 1
        while pixels >= (2 * stride) ** 2 * max(SMALLEST_LEVEL, count * share):
            stride *= 2
        strides.append(stride)
    return tuple(strides)
