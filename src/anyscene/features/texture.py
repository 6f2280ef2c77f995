"""`texture`: the histogram of textons, clusters of the answers of a bank of filters."""

from __future__ import annotations

from collections.abc import Iterable

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.checks import check_array, check_keys
from anyscene.features.codebooks import Vectors, check_codebook, learn_codebook, nearest_words, sample_rows
from anyscene.features.pooling import Pooling
from anyscene.features.sets import FeatureSet, register
from anyscene.features.view import View, with_margin
from anyscene.named_arrays import Arrays

STRIDE = 4
"""Frame pixels from one texton to the next."""

SCALE = 2
"""Filters run on the image at half size, and their answers are kept at every second pixel of it."""

BLURS = ((1.0, 7), (3.0**0.5, 11), (12.0**0.5, 21))
"""Sigma and width in pixels of successive Gaussians; together they blur with sigmas of 1, 2 and 4."""

MARGIN = 20
"""Pixels of the half-size image that an answer depends on: the radii of the Gaussians, and a gradient."""

FILTERS = 15
WORDS = 48
"""Textons of the codebook."""

SAMPLES_PER_IMAGE = 1000
"""Places of an image that the textons are learned from."""

LEAST_SCALE = 1e-3
"""Answers are divided by at least this, should a filter never answer."""


@register
class Texture(FeatureSet):
    """Histogram of textons over a region.

    scales: float32[15], by which the filters' answers are divided. words: float32[n, 15], the textons.
    """

    name = "texture"
    needs = ("lab/2",)
    pooling = Pooling.WORDS
    stride = STRIDE

    def __init__(self, scales: NDArray[np.float32], words: Vectors) -> None:
        self.scales = scales
        self.words = words
        self.channels = self.dimensions = len(words)

    def extract(self, view: View) -> NDArray[np.uint8]:
        """The texton of each block, uint8[h', w']."""
        return nearest_words(filter_answers(view) / self.scales, self.words)

    def arrays(self) -> Arrays:
        """The scales and the textons."""
        return {"scales": self.scales, "words": self.words}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Texture:
        """Make the set from its scales and textons."""
        check_keys("the arrays of texture", arrays, ("scales", "words"))
        check_array("the scales of texture", arrays["scales"], np.float32, (FILTERS,), 1e-6, 1e6)
        check_codebook(arrays["words"], FILTERS)
        return cls(**arrays)


def fit_texture(
    images: Iterable[NDArray[np.uint8]], rng: np.random.Generator
) -> dict[str, NDArray[np.float32]]:
    """Learn the textons from working frames, some thousand answers of each."""
    answers = [filter_answers(view).reshape(-1, FILTERS) for view in map(View, images)]
    samples = np.concatenate([sample_rows(rows, SAMPLES_PER_IMAGE, rng) for rows in answers])
    scales = np.maximum(samples.std(axis=0), LEAST_SCALE).astype(np.float32)
    return {"scales": scales, "words": learn_codebook(samples / scales, WORDS, rng)}


def filter_answers(view: View) -> NDArray[np.float32]:
    """Answers float32[ceil(h / 4), ceil(w / 4), 15] of the filter bank.

    Lab under the narrowest and the widest Gaussian, three differences of Gaussians of L, and the absolute
    gradients of L across and down under all three.
    """
    rows, columns = (-(-side // STRIDE) for side in view.size)
    covered = rows * STRIDE // SCALE, columns * STRIDE // SCALE
    current = with_margin(view.shared("lab", SCALE), covered, MARGIN).astype(np.float32)
    kept = np.s_[MARGIN:-MARGIN:SCALE, MARGIN:-MARGIN:SCALE]
    answers = np.empty((rows, columns, FILTERS), np.float32)
    lightness = current[:, :, 0]
    for level, (sigma, width) in enumerate(BLURS):
        current = cv2.GaussianBlur(current, (width, width), sigma, borderType=cv2.BORDER_REPLICATE)
        finer, lightness = lightness, np.ascontiguousarray(current[:, :, 0])
        answers[:, :, 6 + level] = (finer - lightness)[kept]
        answers[:, :, 9 + 2 * level] = np.abs(cv2.Sobel(lightness, cv2.CV_32F, 1, 0, ksize=1))[kept]
        answers[:, :, 10 + 2 * level] = np.abs(cv2.Sobel(lightness, cv2.CV_32F, 0, 1, ksize=1))[kept]
        if level != 1:
            answers[:, :, 3 * (level // 2) : 3 * (level // 2) + 3] = current[kept]
    return answers
