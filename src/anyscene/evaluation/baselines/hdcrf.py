"""H-DCRF: the data term of the finest regions, refined by a dense CRF over pixels with region terms."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from anyscene.evaluation.baselines.crf_labeler import CrfLabeler
from anyscene.evaluation.baselines.evidence import ImageEvidence
from anyscene.evaluation.baselines.labeler import BeliefMap
from anyscene.evaluation.baselines.pixel_crf import SEARCH_GRID, PixelCrfParameters, mean_field

CLIQUE_LAYERS = 3
"""The finest layers whose regions ask for one label."""


class PixelCrfLabeler(CrfLabeler[PixelCrfParameters]):
    """A fitted H-DCRF; its beliefs are of single pixels."""

    name: ClassVar[str] = "H-DCRF"
    no_crf = PixelCrfParameters(position_weight=0.0, bilateral_weight=0.0, region_weight=0.0)
    grid = SEARCH_GRID
    search_images = 24

    @staticmethod
    def refine(
        belief: NDArray[np.float32], evidence: ImageEvidence, parameters: PixelCrfParameters
    ) -> BeliefMap:
        """Paint beliefs on pixels and refine them there."""
        depth = len(evidence.parents)
        cliques = [evidence.ancestors(layer) for layer in range(max(0, depth - CLIQUE_LAYERS), depth)]
        painted = belief[evidence.regions]
        refined = mean_field(painted, evidence.image, evidence.regions, cliques, parameters)
        height, width, classes = refined.shape
        cells = np.arange(height * width, dtype=np.int32).reshape(height, width)
        return BeliefMap(refined.reshape(-1, classes), cells)
