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
    best_temperature,
    parameters_from_arrays,
    parameters_to_arrays,
    prefixed,
    soften,
    under,
)
from anyscene.evaluation.baselines.region_crf import RegionCrfParameters, fit_parameters, mean_field

SEARCH_IMAGES = 30


@dataclass(frozen=True, eq=False)
class RegionCrfLabeler:
    """A fitted DCRF; `temperature` softens what its mean-field is all too sure of."""

    data_term: RegionClassifier
    parameters: RegionCrfParameters
    temperature: float
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
        beliefs = [beliefs[i] for i in chosen]
        summaries = [summarise(images[i].evidence) for i in chosen]
        parameters = fit_parameters(beliefs, summaries, [images[i].counts(classes)[-1] for i in chosen])
        smoothed = [
            BeliefMap(mean_field(belief, summary, parameters), images[i].evidence.regions)
            for i, belief, summary in zip(chosen, beliefs, summaries, strict=True)
        ]
        return cls(data_term, parameters, best_temperature(smoothed, [images[i].truth for i in chosen]))

    def label(self, evidence: ImageEvidence) -> BeliefMap:
        """Beliefs of the finest regions."""
        belief = self.data_term.predict(evidence.features[-1])
        smoothed = mean_field(belief, summarise(evidence), self.parameters)
        return BeliefMap(soften(smoothed, self.temperature), evidence.regions)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that was learned."""
        return (
            prefixed("data_term", self.data_term.arrays())
            | prefixed("parameters", parameters_to_arrays(self.parameters))
            | {"temperature": np.asarray(self.temperature)}
        )

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> RegionCrfLabeler:
        """The inverse of `arrays`."""
        return cls(
            RegionClassifier.from_arrays(under("data_term", arrays)),
            parameters_from_arrays(RegionCrfParameters, under("parameters", arrays)),
            arrays["temperature"].item(),
        )
