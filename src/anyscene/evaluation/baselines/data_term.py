"""The data term that both CRFs share: a classifier of the finest regions by all features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anyscene.evaluation.baselines.classifier import (
    ClassifierSettings,
    RegionClassifier,
    TrainingRows,
    cross_fit,
)
from anyscene.evaluation.baselines.evidence import LabeledImage


def fit_data_term(
    images: Sequence[LabeledImage], classes: int, settings: ClassifierSettings, random: np.random.Generator
) -> tuple[RegionClassifier, list[NDArray[np.float32]]]:
    """Fit the classifier; return it with out-of-fold beliefs of each image's finest regions, float32[n, C].

    The CRF's parameters are chosen on the latter: on what it was fitted to, the classifier needs no CRF.
    """
    sizes = [len(image.evidence.features[-1]) for image in images]
    rows = TrainingRows(
        np.concatenate([image.evidence.features[-1] for image in images]),
        np.concatenate([image.counts(classes)[-1] for image in images]),
        np.repeat([image.fold for image in images], sizes),
    )
    classifier, belief = cross_fit(rows, settings, random)
    return classifier, np.split(belief, np.cumsum(sizes)[:-1])


def spread(count: int, most: int) -> list[int]:
    """At most so many of `count` images, evenly spread: enough to choose a few parameters on."""
    return sorted(set(np.linspace(0, count - 1, min(count, most)).round().astype(int).tolist()))
