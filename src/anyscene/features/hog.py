"""`hog`: which way the edges of a region run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anyscene.features.orientation_kernels import add_blocks, normalize_blocks
from anyscene.features.orientations import fold_directions
from anyscene.features.pooling import Pooling
from anyscene.features.sets import FeatureSet, register
from anyscene.features.view import View

CELL = 8
"""Pixels along a side of a cell; `orientation_kernels.add_blocks` is written for this size."""

BINS = 9
"""Directions from 0 to 180 degrees."""


@register
class Hog(FeatureSet):
    """Histograms of unsigned gradient directions in cells of 8 pixels, normalised by their surroundings.

    A cell lies in four blocks. It keeps the mean over these blocks of each direction, the sum over directions
    in each block (how much the cell stands out against each side), and the log of its raw strength.
    """

    name = "hog"
    dimensions = BINS + 4 + 1
    needs = ("grey", "gradient")
    pooling = Pooling.MEAN
    channels = BINS + 4 + 1
    stride = CELL

    def extract(self, view: View) -> NDArray[np.float32]:
        """One vector a cell, float32[h', w', 14]."""
        sums = block_sums(*view.shared("gradient"))
        return _describe(sums, hog_blocks(sums))


def block_sums(strength: NDArray[np.float32], direction: NDArray[np.float32]) -> NDArray[np.float32]:
    """Direction histograms of the 2 by 2 cells of every block, those half outside the image included.

    float32[2, 2, ceil(h / 8) + 1, ceil(w / 8) + 1, 9]: cell along y, along x, block, direction.
    """
    rows, columns = strength.shape
    sums = np.zeros((2, 2, -(-rows // CELL) + 1, -(-columns // CELL) + 1, BINS + 1), np.float32)
    # Bin k covers 20 degrees from 20 k on.
    position = direction * np.float32(BINS / 180) - np.float32(0.5)
    add_blocks(strength, position, BINS, _window(), sums.reshape(*sums.shape[:3], -1))
    return fold_directions(sums)


def hog_blocks(sums: NDArray[np.float32]) -> NDArray[np.float32]:
    """HOG's normalised blocks, float32[rows + 1, columns + 1, 36]."""
    blocks = np.empty((*sums.shape[2:4], 4 * BINS), np.float32)
    normalize_blocks(sums, blocks)
    return blocks


def _window() -> NDArray[np.float32]:
    """Weight of a block's 16 pixels in its first cell: linear interpolation times a Gaussian of sigma 4."""
    place = np.arange(16) + 0.5
    near = np.clip(1 - np.abs(place - 4) / 8, 0, 1)
    return np.asarray(near * np.exp(-((place - 8) ** 2) / 32), np.float32)


def _describe(sums: NDArray[np.float32], blocks: NDArray[np.float32]) -> NDArray[np.float32]:
    # A cell is the lower right one of the block that starts before it, and so on around.
    shares = (
        blocks[:-1, :-1, 3 * BINS :],
        blocks[1:, :-1, 2 * BINS : 3 * BINS],
        blocks[:-1, 1:, BINS : 2 * BINS],
        blocks[1:, 1:, :BINS],
    )
    described = np.empty((*shares[0].shape[:2], BINS + 4 + 1), np.float32)
    np.mean(shares, axis=0, out=described[:, :, :BINS])
    for side, share in enumerate(shares):
        np.sum(share, axis=2, out=described[:, :, BINS + side])
    np.log1p(sums[1, 1, :-1, :-1].sum(axis=2), out=described[:, :, -1])
    return described
