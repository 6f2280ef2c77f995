"""H-DCRF: the data term of the finest regions, refined by a dense CRF over pixels with region terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from anyscene.evaluation.baselines.crf_labeler import CrfLabeler
from anyscene.evaluation.baselines.evidence import ImageEvidence, LabeledImage
from anyscene.evaluation.baselines.labeler import BeliefMap
from anyscene.evaluation.baselines.pixel_crf import PixelCrfParameters, fit_parameters, mean_field

CLIQUE_LAYERS = 3
"""The finest layers whose regions ask for one label."""


class PixelCrfLabeler(CrfLabeler[PixelCrfParameters]):
    """A fitted H-DCRF; its beliefs are of single pixels."""

    name: ClassVar[str] = "H-DCRF"
    search_images: ClassVar[int] = 12
    parameter_class: ClassVar[type[PixelCrfParameters]] = PixelCrfParameters

    @staticmethod
    def refine(
        belief: NDArray[np.float32], evidence: ImageEvidence, parameters: PixelCrfParameters
    ) -> BeliefMap:
        """Paint beliefs on pixels and refine them there."""
        height, width = evidence.regions.shape
        refined = _refine(belief, evidence, parameters)
        cells = np.arange(height * width, dtype=np.int32).reshape(height, width)
        return BeliefMap(refined.reshape(-1, refined.shape[2]), cells)

    @staticmethod
    def choose(
        beliefs: Sequence[NDArray[np.float32]], images: Sequence[LabeledImage], classes: int
    ) -> PixelCrfParameters:
        """Try parameters on some images."""

        def infer(i: int, parameters: PixelCrfParameters) -> NDArray[np.float32]:
            return _refine(beliefs[i], images[i].evidence, parameters)

        return fit_parameters(infer, range(len(images)), [image.truth for image in images])


def _refine(
    belief: NDArray[np.float32], evidence: ImageEvidence, parameters: PixelCrfParameters
) -> NDArray[np.float32]:
    """Beliefs of all pixels, float32[h, w, C], from those of the finest regions, float32[n, C]."""
    depth = len(evidence.parents)
    cliques = [evidence.ancestors(layer) for layer in range(max(0, depth - CLIQUE_LAYERS), depth)]
    return mean_field(belief[evidence.regions], evidence.image, evidence.regions, cliques, parameters)
