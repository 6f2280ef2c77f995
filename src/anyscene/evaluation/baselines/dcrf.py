"""DCRF: the data term of the finest regions, smoothed by a fully connected CRF over them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from anyscene.evaluation.baselines.crf_labeler import CrfLabeler
from anyscene.evaluation.baselines.evidence import ImageEvidence, summarise
from anyscene.evaluation.baselines.labeler import BeliefMap
from anyscene.evaluation.baselines.region_crf import SEARCH_GRID, RegionCrfParameters, mean_field


class RegionCrfLabeler(CrfLabeler[RegionCrfParameters]):
    """A fitted DCRF; its beliefs are of the finest regions."""

    name: ClassVar[str] = "DCRF"
    no_crf = RegionCrfParameters(position_weight=0.0, bilateral_weight=0.0)
    grid = SEARCH_GRID
    search_images = 48

    @staticmethod
    def refine(
        belief: NDArray[np.float32], evidence: ImageEvidence, parameters: RegionCrfParameters
    ) -> BeliefMap:
        """Smooth beliefs over the finest regions."""
        return BeliefMap(mean_field(belief, summarise(evidence), parameters), evidence.regions)
