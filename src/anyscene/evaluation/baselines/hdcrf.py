"""H-DCRF: the data term of the finest regions, refined by a dense CRF over pixels with region terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anyscene.evaluation.baselines.classifier import ClassifierSettings, RegionClassifier
from anyscene.evaluation.baselines.data_term import fit_data_term, spread
from anyscene.evaluation.baselines.evidence import ImageEvidence, LabeledImage
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
from anyscene.evaluation.baselines.pixel_crf import PixelCrfParameters, fit_parameters, mean_field

SEARCH_IMAGES = 12
CLIQUE_LAYERS = 3
"""The finest layers whose regions ask for one label."""


@dataclass(frozen=True, eq=False)
class PixelCrfLabeler:
    """A fitted H-DCRF; `temperature` softens what its mean-field is all too sure of."""

    data_term: RegionClassifier
    parameters: PixelCrfParameters
    temperature: float
    name: ClassVar[str] = "H-DCRF"

    @classmethod
    def fit(
        cls,
        images: Sequence[LabeledImage],
        classes: int,
        random: np.random.Generator,
        settings: ClassifierSettings | None = None,
    ) -> PixelCrfLabeler:
        """Learn the data term from all images, then the CRF's parameters on its out-of-fold beliefs."""
        data_term, beliefs = fit_data_term(images, classes, settings or ClassifierSettings(), random)

        chosen = spread(len(images), SEARCH_IMAGES)
        truths = [images[i].truth for i in chosen]

        def infer(i: int, parameters: PixelCrfParameters) -> NDArray[np.float32]:
            return _refine(beliefs[i], images[i].evidence, parameters)

        parameters = fit_parameters(infer, chosen, truths)
        refined = [_by_pixel(infer(i, parameters)) for i in chosen]
        return cls(data_term, parameters, best_temperature(refined, truths))

    def label(self, evidence: ImageEvidence) -> BeliefMap:
        """Beliefs of all pixels."""
        belief = self.data_term.predict(evidence.features[-1])
        refined = _by_pixel(_refine(belief, evidence, self.parameters))
        return BeliefMap(soften(refined.belief, self.temperature), refined.cells)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that was learned."""
        return (
            prefixed("data_term", self.data_term.arrays())
            | prefixed("parameters", parameters_to_arrays(self.parameters))
            | {"temperature": np.asarray(self.temperature)}
        )

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> PixelCrfLabeler:
        """The inverse of `arrays`."""
        return cls(
            RegionClassifier.from_arrays(under("data_term", arrays)),
            parameters_from_arrays(PixelCrfParameters, under("parameters", arrays)),
            arrays["temperature"].item(),
        )


def _refine(
    belief: NDArray[np.float32], evidence: ImageEvidence, parameters: PixelCrfParameters
) -> NDArray[np.float32]:
    """Beliefs of all pixels, float32[h, w, C], from those of the finest regions, float32[n, C]."""
    depth = len(evidence.parents)
    cliques = [evidence.ancestors(layer) for layer in range(max(0, depth - CLIQUE_LAYERS), depth)]
    return mean_field(belief[evidence.regions], evidence.image, evidence.regions, cliques, parameters)


def _by_pixel(belief: NDArray[np.float32]) -> BeliefMap:
    """Beliefs float32[h, w, C] with every pixel a cell of its own."""
    height, width, classes = belief.shape
    cells = np.arange(height * width, dtype=np.int32).reshape(height, width)
    return BeliefMap(belief.reshape(-1, classes), cells)
