"""DCRF: the data term of the finest regions, smoothed by a fully connected CRF over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from anyscene.evaluation.baselines.crf_labeler import CrfLabeler
from anyscene.evaluation.baselines.evidence import ImageEvidence, LabeledImage, summarise
from anyscene.evaluation.baselines.labeler import BeliefMap
from anyscene.evaluation.baselines.region_crf import RegionCrfParameters, fit_parameters, mean_field


class RegionCrfLabeler(CrfLabeler[RegionCrfParameters]):
    """A fitted DCRF; its beliefs are of the finest regions."""

    name: ClassVar[str] = "DCRF"
    search_images: ClassVar[int] = 16
    parameter_class: ClassVar[type[RegionCrfParameters]] = RegionCrfParameters

    @staticmethod
    def refine(
        belief: NDArray[np.float32], evidence: ImageEvidence, parameters: RegionCrfParameters
    ) -> BeliefMap:
        """Smooth beliefs over the finest regions."""
        return BeliefMap(mean_field(belief, summarise(evidence), parameters), evidence.regions)

    @staticmethod
    def choose(
        beliefs: Sequence[NDArray[np.float32]], images: Sequence[LabeledImage], classes: int
    ) -> RegionCrfParameters:
        """Try parameters on some images."""
        summaries = [summarise(image.evidence) for image in images]
        return fit_parameters(beliefs, summaries, [image.counts(classes)[-1] for image in images])
