"""`sift`: the histogram of quantised SIFT descriptors, taken every 8 pixels."""

from __future__ import annotations

from collections.abc import Iterable

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.features.codebooks import Vectors, learn_codebook, nearest_words, sample_rows
from anyscene.features.orientation_kernels import add_orientations, gather_descriptors
from anyscene.features.orientations import fold_directions
from anyscene.features.pooling import Pooling
from anyscene.features.sets import Arrays, FeatureSet, register
from anyscene.features.view import Rect, View, crop_with_margin

STEP = 8
CELL = 4
"""A descriptor sees 4 by 4 cells of this side: the 16 pixels around its block of 8."""

BLUR = float(np.sqrt(1.6**2 - 0.5**2))
"""From the half a pixel that a camera blurs to SIFT's base scale of 1.6."""

MARGIN = 16
"""What a crop needs around it: cells that reach over its edge, and the blur; a multiple of STEP."""

WORDS = 100


@register
class Sift(FeatureSet):
    """Histogram of SIFT words over a region.

    words: float32[n, 128], the codebook.
    """

    name = "sift"
    needs = ("grey",)
    pooling = Pooling.WORDS
    stride = STEP
    local = True

    def __init__(self, words: Vectors) -> None:
        self.words = words
        self.channels = self.dimensions = len(words)

    def extract(self, view: View, rect: Rect, stride: int) -> NDArray[np.uint8]:
        """The word of each block, uint8[h', w']."""
        return nearest_words(dense_sift(view.shared("grey"), rect), self.words)

    def arrays(self) -> Arrays:
        """The codebook."""
        return {"words": self.words}


def fit_sift(
    images: Iterable[NDArray[np.uint8]], rng: np.random.Generator, words: int = WORDS
) -> dict[str, Vectors]:
    """Learn the codebook from working frames, some hundred descriptors of each."""
    samples = [
        sample_rows(dense_sift(View(image).shared("grey")).reshape(-1, 128), 400, rng) for image in images
    ]
    return {"words": learn_codebook(np.concatenate(samples), words, rng)}


def dense_sift(grey: NDArray[np.uint8], rect: Rect | None = None) -> NDArray[np.float32]:
    """Upright SIFT descriptors of unit length centred on every block of 8 by 8 pixels of `rect`.

    float32[ceil(h / 8), ceil(w / 8), 128], in OpenCV's order: rows of cells, cells, directions anticlockwise.
    All pixels of a cell weigh the same in the descriptor's Gaussian window, so that descriptors share cells.
    """
    rect = Rect(0, 0, *grey.shape) if rect is None else rect
    rows, columns = -(-rect.height // STEP), -(-rect.width // STEP)
    blocks = Rect(rect.top, rect.left, rect.top + rows * STEP, rect.left + columns * STEP)
    around = crop_with_margin(grey, blocks, MARGIN, cv2.BORDER_REPLICATE)
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
