"""DCRF: the data term of the finest regions, smoothed by a fully connected CRF over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anyscene.evaluation.baselines.classifier import ClassifierSettings, RegionClassifier
from anyscene.evaluation.baselines.data_term import fit_data_term, spread
from anyscene.evaluation.baselines.evidence import ImageEvidence, LabeledImage, summarise
from anyscene.evaluation.baselines.labeler import (
    Arrays,
    BeliefMap,
    parameters_from_arrays,
    parameters_to_arrays,
    prefixed,
    under,
)
from anyscene.evaluation.baselines.region_crf import RegionCrfParameters, fit_parameters, mean_field

SEARCH_IMAGES = 30


@dataclass(frozen=True, eq=False)
class RegionCrfLabeler:
    """A fitted DCRF."""

    data_term: RegionClassifier
    parameters: RegionCrfParameters
    name: ClassVar[str] = "DCRF"

    @classmethod
    def fit(
        cls,
        images: Sequence[LabeledImage],
        classes: int,
        random: np.random.Generator,
        settings: ClassifierSettings | None = None,
    ) -> RegionCrfLabeler:
        """Learn the data term from all images, then the CRF's parameters on its out-of-fold beliefs."""
        data_term, beliefs = fit_data_term(images, classes, settings or ClassifierSettings(), random)
        chosen = spread(len(images), SEARCH_IMAGES)
        parameters = fit_parameters(
            [beliefs[i] for i in chosen],
            [summarise(images[i].evidence) for i in chosen],
            [images[i].counts(classes)[-1] for i in chosen],
        )
        return cls(data_term, parameters)

    def label(self, evidence: ImageEvidence) -> BeliefMap:
        """Beliefs of the finest regions."""
        belief = self.data_term.predict(evidence.features[-1])
        return BeliefMap(mean_field(belief, summarise(evidence), self.parameters), evidence.regions)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that was learned."""
        return prefixed("data_term", self.data_term.arrays()) | prefixed(
            "parameters", parameters_to_arrays(self.parameters)
        )

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> RegionCrfLabeler:
        """The inverse of `arrays`."""
        return cls(
            RegionClassifier.from_arrays(under("data_term", arrays)),
            parameters_from_arrays(RegionCrfParameters, under("parameters", arrays)),
        )
