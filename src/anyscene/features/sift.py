"""`sift`: the histogram of quantised SIFT descriptors, taken every 8 pixels."""

from __future__ import annotations

from collections.abc import Iterable

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.checks import check_keys
from anyscene.features.codebooks import Vectors, check_codebook, learn_codebook, nearest_words, sample_rows
from anyscene.features.orientation_kernels import add_orientations, gather_descriptors
from anyscene.features.orientations import fold_directions
from anyscene.features.pooling import Pooling
from anyscene.features.sets import FeatureSet, register
from anyscene.features.view import View, with_margin
from anyscene.named_arrays import Arrays

STEP = 8
"""Pixels from one descriptor to the next."""

CELL = 4
"""Pixels along a side of a cell. A descriptor has 4 by 4 of them: the 16 pixels around its block of 8."""

BLUR = float(np.sqrt(1.6**2 - 0.5**2))
"""Pixels: blurs the half pixel that cameras blur to SIFT's base scale of 1.6."""

MARGIN = 16
"""Pixels around the frame: for cells that reach over its edge, and for the blur; a multiple of STEP."""

WORDS = 100
"""Words of the codebook."""

DESCRIPTOR = 128
"""Numbers of a descriptor: 8 directions in 16 cells."""

SAMPLES_PER_IMAGE = 400
"""Descriptors of an image that the codebook is learned from."""


@register
class Sift(FeatureSet):
    """Histogram of SIFT words over a region.

    words: float32[n, 128], the codebook.
    """

    name = "sift"
    needs = ("grey",)
    pooling = Pooling.WORDS
    stride = STEP

    def __init__(self, words: Vectors) -> None:
        self.words = words
        self.channels = self.dimensions = len(words)

    def extract(self, view: View) -> NDArray[np.uint8]:
        """The word of each block, uint8[h', w']."""
        return nearest_words(dense_sift(view.shared("grey")), self.words)

    def arrays(self) -> Arrays:
        """The codebook."""
        return {"words": self.words}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Sift:
        """Make the set from its codebook."""
        check_keys("the arrays of sift", arrays, ("words",))
        check_codebook(arrays["words"], DESCRIPTOR)
        return cls(**arrays)


def fit_sift(images: Iterable[NDArray[np.uint8]], rng: np.random.Generator) -> dict[str, Vectors]:
    """Learn the codebook from working frames, some hundred descriptors of each."""
    described = (dense_sift(View(image).shared("grey")).reshape(-1, DESCRIPTOR) for image in images)
    samples = [sample_rows(rows, SAMPLES_PER_IMAGE, rng) for rows in described]
    return {"words": learn_codebook(np.concatenate(samples), WORDS, rng)}


def dense_sift(grey: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Upright SIFT descriptors of unit length centred on every block of 8 by 8 pixels.

    float32[ceil(h / 8), ceil(w / 8), 128], in OpenCV's order: rows of cells, cells, directions anticlockwise.
    All pixels of a cell weigh the same in the descriptor's Gaussian window, so that descriptors share cells.
    """
    rows, columns = (-(-side // STEP) for side in grey.shape)
    around = with_margin(grey, (rows * STEP, columns * STEP), MARGIN)
    blurred = cv2.GaussianBlur(around.astype(np.float32), (7, 7), BLUR, borderType=cv2.BORDER_REPLICATE)
    # One cell around the blocks, and half a cell that still adds to it.
    inner = np.s_[MARGIN - 8 : -(MARGIN - 8), MARGIN - 8 : -(MARGIN - 8)]
    across = cv2.Sobel(blurred, cv2.CV_32F, 1, 0, ksize=1)[inner]
    down = cv2.Sobel(blurred, cv2.CV_32F, 0, 1, ksize=1)[inner]
    strength, position = cv2.cartToPolar(across, down)
    position *= np.float32(-8 / (2 * np.pi))  # rows run downwards, angles anticlockwise
    cells = np.zeros((2 * rows + 6, 2 * columns + 6, 9), np.float32)
    add_orientations(strength, position, CELL, 8, cells.reshape(len(cells), -1))
    around_blocks = fold_directions(cells[2:-2, 2:-2]).reshape(2 * rows + 2, -1)
    descriptors = np.empty((rows, columns, 128), np.float32)
    gather_descriptors(around_blocks, _window(), descriptors)
    return descriptors


def _window() -> NDArray[np.float32]:
    """SIFT's Gaussian window (sigma of two cells) at the centres of 4 by 4 cells, once a direction."""
    along = np.exp(-(np.array([-1.5, -0.5, 0.5, 1.5], np.float32) ** 2) / 8)
    return np.repeat(np.outer(along, along), 8, axis=1)
