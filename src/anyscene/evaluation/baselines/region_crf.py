"""Fully connected CRF over regions with exact Gaussian kernels, solved by mean-field.

Krähenbühl and Koltun's model (2011), small enough on regions for the kernels to be written out: the model of
the baseline DCRF.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.evaluation.baselines import crf_kernels
from anyscene.evaluation.baselines.evidence import RegionSummary
from anyscene.model.kernels import BELIEF_FLOOR

Floats = NDArray[np.float32]

LOWEST_EXPONENT = np.float32(-50)
"""Regions further apart do not matter, and denormal numbers would slow the products down fiftyfold."""


@dataclass(frozen=True)
class RegionCrfParameters:
    """Two Gaussian kernels and how often they are applied. Labels agree with themselves only (Potts).

    position_weight, bilateral_weight : what agreeing with a neighbour is worth, in nats; 0 drops the kernel.
    position_width : the standard deviation, in pixels, of the kernel on position alone.
    bilateral_width, color_width : the standard deviations, in pixels and in levels of RGB, of the kernel on
        position and colour.
    iterations : the rounds of mean-field.
    """

    position_weight: float = 0.5
    position_width: float = 20.0
    bilateral_weight: float = 1.0
    bilateral_width: float = 20.0
    color_width: float = 4.0
    iterations: int = 5


SEARCH_GRID = {
    "bilateral_weight": (0.25, 0.5, 1.0, 2.0, 4.0),
    "position_weight": (0.0, 0.25, 0.5, 1.0),
    "color_width": (4.0, 8.0, 15.0),
    "bilateral_width": (20.0, 40.0, 80.0),
}
"""The values that are tried. Weights come first, since they matter most, with the tightest kernel."""


def mean_field(belief: Floats, regions: RegionSummary, parameters: RegionCrfParameters) -> Floats:
    """Beliefs of all regions, float32[n, C], from what the data term says, float32[n, C].

    Each round sets log q(l) = log data(l) + Σⱼ Kᵢⱼ·qⱼ(l) + const for all regions at once, where K is
    `message_matrix`.
    """
    if parameters.position_weight == parameters.bilateral_weight == 0:
        return belief
    messages = message_matrix(regions, parameters)
    data_term = np.log(np.maximum(belief, BELIEF_FLOOR))
    current = belief
    for _ in range(parameters.iterations):
        scores = data_term + messages @ current
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        current = scores / scores.sum(axis=1, keepdims=True)
    return np.asarray(current, np.float32)


def message_matrix(regions: RegionSummary, parameters: RegionCrfParameters) -> Floats:
    """How strongly each region listens to each other, float32[n, n]; none hears itself.

    A region speaks for all its pixels: its voice is its area. Each kernel G is normalised to D^-½ G D^-½,
    where D holds the row sums of G times the voices; a region's own share counts there, so that a region
    unlike all others hears little.
    """
    voice = np.asarray(regions.area / regions.area.mean(), np.float32)
    place = regions.position / np.float32(parameters.bilateral_width)
    color = regions.color / np.float32(parameters.color_width)
    messages = np.zeros((len(voice), len(voice)), np.float32)
    for weight, points in (
        (parameters.position_weight, regions.position / np.float32(parameters.position_width)),
        (parameters.bilateral_weight, np.concatenate([place, color], axis=1)),
    ):
        if weight > 0:
            kernel = _gaussian(points)
            scale = np.sqrt(np.float32(weight) / (kernel @ voice))
            crf_kernels.add_scaled(kernel, scale, scale * voice, messages)
    np.fill_diagonal(messages, 0)
    return messages


def _gaussian(points: Floats) -> Floats:
    """exp(-½ |f - f'|²) for all pairs of points float32[n, d], float32[n, n]."""
    points = points - points.mean(axis=0)  # or rounding would tell
    half = 0.5 * np.einsum("ij,ij->i", points, points)
    one = np.ones_like(half)
    exponents = np.column_stack([points, -half, one]) @ np.column_stack([points, one, -half]).T
    np.maximum(exponents, LOWEST_EXPONENT, out=exponents)
    return np.asarray(np.exp(exponents, out=exponents), np.float32)
