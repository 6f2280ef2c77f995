"""Dense CRF over pixels with robust higher-order terms on regions, solved by mean-field.

Gaussian pairwise terms as in Krähenbühl and Koltun (2011), regions that ask for one label as in Vineet et al.
(2014): the model of the baseline H-DCRF.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.evaluation.baselines import crf_kernels
from anyscene.evaluation.baselines.lattice import Lattice, make_lattice
from anyscene.evaluation.baselines.lattice_kernels import LANES
from anyscene.evaluation.baselines.region_crf import RegionCrfParameters
from anyscene.model.kernels import BELIEF_FLOOR

IMPOSSIBLE = np.float32(-1e4)
"""The score of the columns that only fill up a group of lanes."""


@dataclass(frozen=True)
class PixelCrfParameters(RegionCrfParameters):
    """The kernels of the region CRF, with widths for pixels, and terms that ask a region for one label.

    region_weight : what a label costs in a region that holds none of it, in nats.
    region_tolerance : the share of a region that may have other labels before the full cost is due; the cost
        grows linearly up to there (robust P^n Potts).
    """

    position_weight: float = 1.0
    position_width: float = 3.0
    color_width: float = 8.0
    region_weight: float = 0.5
    region_tolerance: float = 0.5


SEARCH_GRID = {
    "bilateral_weight": (0.5, 1.0, 2.0),
    "position_weight": (0.0, 0.5, 1.0, 2.0),
    "region_weight": (0.0, 0.25, 0.5, 1.0),
    "bilateral_width": (20.0, 40.0, 80.0),
    "color_width": (8.0, 15.0),
}
"""The values that are tried. Weights come first, since they matter most, with the tightest kernel."""


def mean_field(
    belief: NDArray[np.float32],
    image: NDArray[np.uint8],
    regions: NDArray[np.int32],
    cliques: Sequence[NDArray[np.int32]],
    parameters: PixelCrfParameters,
) -> NDArray[np.float32]:
    """Beliefs of all pixels, float32[h, w, C], from what the data term says, float32[h, w, C].

    Like reference implementations, a pixel also hears itself through the Gaussian kernels.

    image : uint8[h, w, 3]. regions : int32[h, w], numbered from 0.
    cliques : for each partition whose parts should have one label, the part of every region, int32[regions];
        the regions themselves are `np.arange`.
    """
    height, width, classes = belief.shape
    filters = []
    if parameters.position_weight > 0:
        filters.append((parameters.position_weight, _lattice(image, parameters.position_width)))
    if parameters.bilateral_weight > 0:
        bilateral = _lattice(image, parameters.bilateral_width, parameters.color_width)
        filters.append((parameters.bilateral_weight, bilateral))
    data_term = _in_groups(np.log(np.maximum(belief, BELIEF_FLOOR)).reshape(-1, classes))
    flat_regions = np.ascontiguousarray(regions).ravel()
    areas = np.bincount(flat_regions).astype(np.float32)
    groups = data_term.shape[1] // LANES
    current = _softmax(data_term.copy())
    scores = np.empty_like(data_term)
    for _ in range(parameters.iterations):
        sums = crf_kernels.sum_over_regions(current, flat_regions, len(areas))
        region_term = _region_term(sums, areas, cliques, parameters)
        crf_kernels.start_scores(data_term, region_term, flat_regions, scores)
        for weight, lattice in filters:
            lattice.add_filtered(
                current.reshape(-1, groups, LANES), weight, scores.reshape(-1, groups, LANES)
            )
        current, scores = _softmax(scores), current
    return np.ascontiguousarray(current[:, :classes]).reshape(height, width, classes)


def _lattice(image: NDArray[np.uint8], width: float, color_width: float | None = None) -> Lattice:
    rows, columns = np.indices(image.shape[:2], dtype=np.float32)
    position = np.stack([columns, rows], axis=-1).reshape(-1, 2) / np.float32(width)
    if color_width is None:
        return make_lattice(position)
    color = image.reshape(-1, 3) / np.float32(color_width)
    return make_lattice(np.concatenate([position, color], axis=1))


def _region_term(
    sums: NDArray[np.float32],
    areas: NDArray[np.float32],
    cliques: Sequence[NDArray[np.int32]],
    parameters: PixelCrfParameters,
) -> NDArray[np.float32]:
    """What each label costs a pixel of each region, by all its cliques together, float32[regions, k]."""
    term = np.zeros_like(sums)
    if parameters.region_weight == 0:
        return term
    for clique in cliques:
        count = int(clique.max()) + 1
        members = np.bincount(clique, areas, count).astype(np.float32)
        held = crf_kernels.sum_over_regions(sums, clique, count) / members[:, None]
        cost = np.minimum(1, (1 - held) / np.float32(parameters.region_tolerance))
        term += np.float32(parameters.region_weight) * cost[clique]
    return term


def _in_groups(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Fill rows up to whole groups of lanes with classes that never win."""
    missing = -scores.shape[1] % LANES
    return np.pad(scores, ((0, 0), (0, missing)), constant_values=IMPOSSIBLE)


def _softmax(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Turn scores into beliefs, in place."""
    crf_kernels.subtract_largest(scores)
    np.exp(scores, out=scores)
    crf_kernels.normalise(scores)
    return scores
