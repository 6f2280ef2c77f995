"""HIM: the hierarchical inference machine of Munoz et al. (2010), a classifier for each layer of the tree.

From the whole image down, regions are classified by their features and by what was predicted for their
parent. Training is stacked: a layer learns from predictions for parents that are as wrong as on a new image.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from anyscene.evaluation.baselines.classifier import ClassifierSettings, RegionClassifier
from anyscene.evaluation.baselines.data_term import fit_layer
from anyscene.evaluation.baselines.evidence import ImageEvidence, Images
from anyscene.evaluation.baselines.labeler import BeliefMap
from anyscene.learning.learners.boosting import BoostingSettings
from anyscene.named_arrays import Arrays, prefixed, under

Floats = NDArray[np.float32]

SETTINGS = ClassifierSettings(
    leaf_share=0.007, boosting=BoostingSettings(depth=5, shrinkage=0.1, column_share=0.3)
)
"""More cautious than for a classifier on its own: regions of one parent share its errors as context."""


@dataclass(frozen=True, eq=False)
class InferenceMachine:
    """A fitted machine; layers[k] takes the features of layer k and, below the top, the parents' beliefs."""

    layers: tuple[RegionClassifier, ...]
    name: ClassVar[str] = "HIM"

    @classmethod
    def fit(
        cls, images: Images, classes: int, random: Generator, settings: ClassifierSettings | None = None
    ) -> InferenceMachine:
        """Learn from labeled images of at least two folds."""
        counts = [image.counts(classes) for image in images]
        own = images[0].evidence
        opinions = own.opinions_among(list(own.widths))
        layers = []
        beliefs: list[Floats | None] = [None] * len(images)
        for k in range(len(own.parents)):
            tables = [with_context(image.evidence, k, q) for image, q in zip(images, beliefs, strict=True)]
            own_counts = [layers_of_image[k] for layers_of_image in counts]
            found = fit_layer(images, tables, own_counts, opinions, settings or SETTINGS, random)
            layers.append(found.classifier)
            beliefs = list(found.beliefs)
        return cls(tuple(layers))

    def label(self, evidence: ImageEvidence) -> BeliefMap:
        """Classify all layers from the top down; the finest one's beliefs are the answer."""
        belief = None
        for k, classifier in enumerate(self.layers):
            belief = classifier.predict(with_context(evidence, k, belief))
        assert belief is not None
        return BeliefMap(belief, evidence.regions)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Every layer's classifier, under the layer's number."""
        named: dict[str, NDArray[Any]] = {}
        for k, classifier in enumerate(self.layers):
            named |= prefixed(str(k), classifier.arrays())
        return named

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> InferenceMachine:
        """The inverse of `arrays`."""
        count = 1 + max(int(name.split("/")[0]) for name in arrays)
        return cls(tuple(RegionClassifier.from_arrays(under(str(k), arrays)) for k in range(count)))


def with_context(evidence: ImageEvidence, layer: int, above: Floats | None) -> Floats:
    """A layer's features, followed by the beliefs of the regions' parents if there is a layer above.

    Classifiers do not *start* from the parents' beliefs: where a parent errs, all its children do, and trees
    would learn those few parents by heart.
    """
    if above is None:
        return evidence.features[layer]
    return np.concatenate([evidence.features[layer], above[evidence.parents[layer]]], axis=1)
