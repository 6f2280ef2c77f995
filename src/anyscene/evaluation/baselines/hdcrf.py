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
    parameters_from_arrays,
    parameters_to_arrays,
    prefixed,
    under,
)
from anyscene.evaluation.baselines.pixel_crf import PixelCrfParameters, fit_parameters, mean_field

SEARCH_IMAGES = 12
CLIQUE_LAYERS = 3
"""The finest layers whose regions ask for one label."""


@dataclass(frozen=True, eq=False)
class PixelCrfLabeler:
    """A fitted H-DCRF."""

    data_term: RegionClassifier
    parameters: PixelCrfParameters
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

        def infer(i: int, parameters: PixelCrfParameters) -> NDArray[np.float32]:
            return _refine(beliefs[i], images[i].evidence, parameters)

        chosen = spread(len(images), SEARCH_IMAGES)
        return cls(data_term, fit_parameters(infer, chosen, [images[i].truth for i in chosen]))

    def label(self, evidence: ImageEvidence) -> BeliefMap:
        """Beliefs of all pixels."""
        belief = _refine(self.data_term.predict(evidence.features[-1]), evidence, self.parameters)
        cells = np.arange(evidence.regions.size, dtype=np.int32).reshape(evidence.regions.shape)
        return BeliefMap(belief.reshape(evidence.regions.size, -1), cells)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that was learned."""
        return prefixed("data_term", self.data_term.arrays()) | prefixed(
            "parameters", parameters_to_arrays(self.parameters)
        )

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> PixelCrfLabeler:
        """The inverse of `arrays`."""
        return cls(
            RegionClassifier.from_arrays(under("data_term", arrays)),
            parameters_from_arrays(PixelCrfParameters, under("parameters", arrays)),
        )


def _refine(
    belief: NDArray[np.float32], evidence: ImageEvidence, parameters: PixelCrfParameters
) -> NDArray[np.float32]:
    """Beliefs of all pixels, float32[h, w, C], from those of the finest regions, float32[n, C]."""
    depth = len(evidence.parents)
    cliques = [evidence.ancestors(layer) for layer in range(max(0, depth - CLIQUE_LAYERS), depth)]
    return mean_field(belief[evidence.regions], evidence.image, evidence.regions, cliques, parameters)
