"""`semantics`: the class scores of a boosted classifier of points, averaged over a region."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.features.layout import MAPS, LayoutClassifier, fit_layout
from anyscene.features.pooling import Pooling
from anyscene.features.sets import FeatureSet, register
from anyscene.features.view import View
from anyscene.named_arrays import Arrays

FILTERS, TREES, DEPTH = 400, 80, 6
"""The size of the classifier of classes."""


@register
class Semantics(FeatureSet):
    """Mean probability of each class.

    Whatever learns from it must see scores of images that the classifier was not fitted to: see `training`.
    """

    name = "semantics"
    needs = MAPS
    pooling = Pooling.MEAN
    stride = None
    speaks_of_classes = True

    def __init__(self, classifier: LayoutClassifier) -> None:
        self.classifier = classifier
        self.channels = self.dimensions = classifier.classes

    def extract(self, view: View) -> NDArray[np.float32]:
        """Probabilities float32[h', w', classes] at every eighth pixel."""
        return self.classifier.classify(view)

    def arrays(self) -> Arrays:
        """The classifier."""
        return self.classifier.arrays()

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Semantics:
        """Make the set from its classifier."""
        return cls(LayoutClassifier.from_arrays(arrays))


def fit_semantics(
    samples: Iterable[tuple[NDArray[np.uint8], NDArray[np.integer]]], classes: int, rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Learn the classifier from working frames and their truth at the frame's size."""
    return fit_layout(samples, classes, rng, FILTERS, TREES, DEPTH)
