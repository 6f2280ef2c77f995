"""Fully connected CRF over regions with exact Gaussian kernels, solved by mean-field.

Krähenbühl and Koltun's model (2011), small enough on regions for the kernels to be written out: the model of
the baseline DCRF.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.evaluation.baselines import region_crf_kernels
from anyscene.evaluation.baselines.evidence import RegionSummary
from anyscene.evaluation.baselines.search import coordinate_search
from anyscene.model.kernels import BELIEF_FLOOR

Floats = NDArray[np.float32]

LOWEST_EXPONENT = np.float32(-50)
"""Nothing is heard from so far away, and denormal numbers would slow the products down fiftyfold."""


@dataclass(frozen=True)
class RegionCrfParameters:
    """The model's weights, in nats, and widths. Labels are compatible with themselves only (Potts).

    position_width : standard deviation in pixels of the kernel on position alone.
    bilateral_width, color_width : of the kernel on position and colour, in pixels and in levels of RGB.
    area_power : a region speaks with the weight of its area to this power.
    """

    position_weight: float = 1.0
    position_width: float = 20.0
    bilateral_weight: float = 2.0
    bilateral_width: float = 80.0
    color_width: float = 15.0
    area_power: float = 0.5
    iterations: int = 5


SEARCH_GRID = {
    "bilateral_weight": (0.0, 0.5, 1.0, 2.0, 4.0, 8.0),
    "position_weight": (0.0, 0.5, 1.0, 2.0, 4.0),
    "color_width": (8.0, 15.0, 25.0, 40.0),
    "bilateral_width": (40.0, 80.0, 160.0),
    "position_width": (10.0, 20.0, 40.0),
    "area_power": (0.0, 0.5, 1.0),
}
"""What `fit_parameters` tries; the weights first, as they matter most."""


def mean_field(belief: Floats, regions: RegionSummary, parameters: RegionCrfParameters) -> Floats:
    """Beliefs of all regions, float32[n, C], from what the data term says, float32[n, C].

    Each round sets log q(l) = log data(l) + Σⱼ Kᵢⱼ·wⱼ·qⱼ(l) + const for all regions at once, where K is
    `message_matrix` and w are the regions' voices.
    """
    messages, voice = message_matrix(regions, parameters)
    data_term = np.log(np.maximum(belief, BELIEF_FLOOR))
    current = belief
    for _ in range(parameters.iterations):
        scores = data_term + messages @ (voice[:, None] * current)
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        current = scores / scores.sum(axis=1, keepdims=True)
    return np.asarray(current, np.float32)


def message_matrix(regions: RegionSummary, parameters: RegionCrfParameters) -> tuple[Floats, Floats]:
    """How strongly regions listen to one another, float32[n, n], symmetric, and their voices, float32[n].

    Each kernel G is normalised to D^-½ G D^-½, where D holds the row sums of G times the voices; a region's
    own share counts there, so that a region unlike all others hears little. It does not hear itself.
    """
    voice = regions.area**parameters.area_power
    voice = np.asarray(voice / voice.mean(), np.float32)
    position = regions.position / np.float32(parameters.position_width)
    color = regions.color / np.float32(parameters.color_width)
    place = regions.position / np.float32(parameters.bilateral_width)
    spatial = _gaussian(position)
    bilateral = _gaussian(np.concatenate([place, color], axis=1))
    region_crf_kernels.combine(
        spatial,
        bilateral,
        np.sqrt(np.float32(parameters.position_weight) / (spatial @ voice)),
        np.sqrt(np.float32(parameters.bilateral_weight) / (bilateral @ voice)),
    )
    return spatial, voice


def fit_parameters(
    beliefs: Sequence[Floats],
    regions: Sequence[RegionSummary],
    counts: Sequence[NDArray[np.int64]],
    start: RegionCrfParameters | None = None,
) -> RegionCrfParameters:
    """The parameters of `SEARCH_GRID` that label most pixels of these training images right.

    beliefs : what the data term says, float32[n, C] an image; out of fold, or smoothing looks needless.
    counts : labeled pixels by region and class, int64[n, C] an image.
    """

    def pixels_right(parameters: RegionCrfParameters) -> float:
        right = 0
        for belief, summary, count in zip(beliefs, regions, counts, strict=True):
            labels = mean_field(belief, summary, parameters).argmax(axis=1)
            right += int(count[np.arange(len(labels)), labels].sum())
        return right

    return coordinate_search(start or RegionCrfParameters(), SEARCH_GRID, pixels_right)


def _gaussian(points: Floats) -> Floats:
    """exp(-½ |f - f'|²) for all pairs of points float32[n, d], float32[n, n]."""
    points = points - points.mean(axis=0)  # or rounding would tell
    half = 0.5 * np.einsum("ij,ij->i", points, points)
    one = np.ones_like(half)
    exponents = np.column_stack([points, -half, one]) @ np.column_stack([points, one, -half]).T
    np.maximum(exponents, LOWEST_EXPONENT, out=exponents)
    return np.asarray(np.exp(exponents, out=exponents), np.float32)
