"""`lbp`: the histogram of uniform local binary patterns, which are fine texture whatever the light."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.features.lbp_kernels import neighbour_bits
from anyscene.features.pooling import Pooling
from anyscene.features.sets import FeatureSet, register
from anyscene.features.view import Rect, View, crop_with_margin

NEIGHBOURS = 8
CODES = NEIGHBOURS + 2
"""0-8: uniform patterns by how many neighbours are at least as bright; 9: all other patterns."""

DIAGONAL = 0.70711
"""Offset of diagonal neighbours, to the five digits that scikit-image rounds to: codes equal its own."""


@register
class Lbp(FeatureSet):
    """Histogram of the ten rotation-invariant uniform patterns of radius 1."""

    name = "lbp"
    dimensions = CODES
    needs = ("grey",)
    pooling = Pooling.WORDS
    channels = CODES
    stride = 1
    local = True

    def extract(self, view: View, rect: Rect, stride: int) -> NDArray[np.uint8]:
        """Codes uint8[h, w] of the pixels in `rect`."""
        return local_binary_patterns(view.shared("grey"), rect)


def local_binary_patterns(grey: NDArray[np.uint8], rect: Rect | None = None) -> NDArray[np.uint8]:
    """Uniform patterns (8 neighbours, radius 1) of an image, or of `rect` in it; black lies beyond the image.

    Equal, code for code, to scikit-image's `local_binary_pattern(grey, 8, 1, method="uniform")`.
    """
    rect = Rect(0, 0, *grey.shape) if rect is None else rect
    rows, columns = np.arange(rect.top, rect.bottom), np.arange(rect.left, rect.right)
    bits = np.empty((rect.height, rect.width), np.uint8)
    padded = crop_with_margin(grey, rect, 1, cv2.BORDER_CONSTANT)
    neighbour_bits(
        padded,
        (rows - DIAGONAL) - (rows - 1),
        (rows + DIAGONAL) - rows,
        (columns - DIAGONAL) - (columns - 1),
        (columns + DIAGONAL) - columns,
        bits,
    )
    return np.asarray(cv2.LUT(bits, _uniform_codes()))


def _uniform_codes() -> NDArray[np.uint8]:
    """The code of each of the 256 patterns of bits."""
    bits = (np.arange(256)[:, None] >> np.arange(NEIGHBOURS)) & 1
    changes = np.abs(np.diff(bits, axis=1)).sum(1)
    return np.where(changes <= 2, bits.sum(1), CODES - 1).astype(np.uint8)
