"""DCRF and H-DCRF: a data term of the finest regions, refined by a CRF over regions or over pixels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from anyscene.data.splits import evenly_spread
from anyscene.evaluation.baselines import pixel_crf, region_crf
from anyscene.evaluation.baselines.classifier import ClassifierSettings, RegionClassifier
from anyscene.evaluation.baselines.data_term import Stacked, fit_data_term
from anyscene.evaluation.baselines.evidence import ImageEvidence, Images, summarise
from anyscene.evaluation.baselines.labeler import (
    BeliefMap,
    Parameters,
    best_temperature,
    parameters_from_arrays,
    parameters_to_arrays,
    soften,
)
from anyscene.evaluation.baselines.pixel_crf import PixelCrfParameters
from anyscene.evaluation.baselines.region_crf import RegionCrfParameters
from anyscene.evaluation.baselines.search import surest_gain
from anyscene.named_arrays import Arrays, prefixed, under

CLIQUE_LAYERS = 3
"""H-DCRF asks for one label in each region of this many of the finest layers."""


@dataclass(frozen=True, eq=False)
class CrfLabeler(ABC, Generic[Parameters]):
    """A classifier of the finest regions, refined by a CRF; `temperature` softens beliefs that are too sure.

    A subclass says what its CRF does to beliefs and which parameters are tried.
    """

    data_term: RegionClassifier
    parameters: Parameters
    temperature: float
    name: ClassVar[str]
    no_crf: ClassVar[Any]
    """Parameters that leave the data term as it is. The search starts here."""
    grid: ClassVar[Mapping[str, Sequence[float]]]
    search_images: ClassVar[int]

    @staticmethod
    @abstractmethod
    def refine(belief: NDArray[np.float32], evidence: ImageEvidence, parameters: Any) -> BeliefMap:
        """The CRF's beliefs from what the data term says of the finest regions, float32[n, C]."""

    @classmethod
    def fit(
        cls, images: Images, classes: int, random: Generator, settings: ClassifierSettings | None = None
    ) -> Self:
        """Learn the data term from all images, then the CRF on its out-of-fold beliefs."""
        term = fit_data_term(images, classes, settings or ClassifierSettings(), random)
        return cls.on_data_term(term, images)

    @classmethod
    def on_data_term(cls, term: Stacked, images: Images) -> Self:
        """Learn the CRF for a data term fitted to these images, trying parameters on some of them."""
        chosen = evenly_spread(len(images), cls.search_images)
        few = [(term.beliefs[i], images[i].evidence, images[i].truth) for i in chosen]

        def accuracies(parameters: Any) -> NDArray[np.float64]:
            return np.array([cls.refine(q, own, parameters).accuracy(truth) for q, own, truth in few])

        parameters = surest_gain(cls.no_crf, cls.grid, accuracies)
        refined = [cls.refine(q, own, parameters) for q, own, _ in few]
        return cls(term.classifier, parameters, best_temperature(refined, [truth for *_, truth in few]))

    def label(self, evidence: ImageEvidence) -> BeliefMap:
        """Beliefs of the CRF."""
        return self.label_by(evidence.features[-1], evidence)

    def label_by(self, columns: NDArray[np.float32], evidence: ImageEvidence) -> BeliefMap:
        """Beliefs of the CRF whose data term looks at these columns of the finest regions, float32[n, D]."""
        refined = self.refine(self.data_term.predict(columns), evidence, self.parameters)
        return BeliefMap(soften(refined.belief, self.temperature), refined.cells)

    def label_without_crf(self, evidence: ImageEvidence) -> BeliefMap:
        """Beliefs of the data term alone."""
        return BeliefMap(self.data_term.predict(evidence.features[-1]), evidence.regions)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that was learned."""
        return (
            prefixed("data_term", self.data_term.arrays())
            | prefixed("parameters", parameters_to_arrays(self.parameters))
            | {"temperature": np.asarray(self.temperature)}
        )

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """The inverse of `arrays`."""
        return cls(
            RegionClassifier.from_arrays(under("data_term", arrays)),
            parameters_from_arrays(type(cls.no_crf), under("parameters", arrays)),
            arrays["temperature"].item(),
        )


class RegionCrfLabeler(CrfLabeler[RegionCrfParameters]):
    """A fitted DCRF; its beliefs are of the finest regions."""

    name: ClassVar[str] = "DCRF"
    no_crf = RegionCrfParameters(position_weight=0.0, bilateral_weight=0.0)
    grid = region_crf.SEARCH_GRID
    search_images = 48

    @staticmethod
    def refine(
        belief: NDArray[np.float32], evidence: ImageEvidence, parameters: RegionCrfParameters
    ) -> BeliefMap:
        """Smooth beliefs over the finest regions."""
        return BeliefMap(region_crf.mean_field(belief, summarise(evidence), parameters), evidence.regions)


class PixelCrfLabeler(CrfLabeler[PixelCrfParameters]):
    """A fitted H-DCRF; its beliefs are of single pixels."""

    name: ClassVar[str] = "H-DCRF"
    no_crf = PixelCrfParameters(position_weight=0.0, bilateral_weight=0.0, region_weight=0.0)
    grid = pixel_crf.SEARCH_GRID
    search_images = 24

    @staticmethod
    def refine(
        belief: NDArray[np.float32], evidence: ImageEvidence, parameters: PixelCrfParameters
    ) -> BeliefMap:
        """Paint beliefs on pixels and refine them there."""
        depth = len(evidence.parents)
        cliques = [evidence.ancestors(layer) for layer in range(max(0, depth - CLIQUE_LAYERS), depth)]
        painted = belief[evidence.regions]
        refined = pixel_crf.mean_field(painted, evidence.image, evidence.regions, cliques, parameters)
        height, width, classes = refined.shape
        cells = np.arange(height * width, dtype=np.int32).reshape(height, width)
        return BeliefMap(refined.reshape(-1, classes), cells)
