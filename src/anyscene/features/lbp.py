"""`lbp`: the histogram of uniform local binary patterns: fine texture, whatever the light is."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.features.lbp_kernels import neighbour_bits
from anyscene.features.pooling import Pooling
from anyscene.features.sets import FeatureSet, register
from anyscene.features.view import View

NEIGHBOURS = 8
CODES = NEIGHBOURS + 2
"""Codes 0 to 8: uniform patterns, by how many neighbours are at least as bright. 9: all other patterns."""

DIAGONAL = 0.70711
"""Pixels along x and y to a diagonal neighbour, rounded as scikit-image does: so codes equal its own."""


@register
class Lbp(FeatureSet):
    """Histogram of the ten rotation-invariant uniform patterns of radius 1."""

    name = "lbp"
    dimensions = CODES
    needs = ("grey",)
    pooling = Pooling.WORDS
    channels = CODES

    def extract(self, view: View) -> NDArray[np.uint8]:
        """Codes uint8[h, w] of the pixels."""
        return local_binary_patterns(view.shared("grey"))


def local_binary_patterns(grey: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Uniform patterns (8 neighbours, radius 1) of an image; black lies beyond it.

    Equal, code for code, to scikit-image's `local_binary_pattern(grey, 8, 1, method="uniform")`.
    """
    rows, columns = (np.arange(side) for side in grey.shape)
    bits = np.empty(grey.shape, np.uint8)
    neighbour_bits(
        np.asarray(cv2.copyMakeBorder(grey, 1, 1, 1, 1, cv2.BORDER_CONSTANT)),
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
