"""The data term that both CRFs share: a classifier of the finest regions by all features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.evaluation.baselines.classifier import (
    ClassifierSettings,
    RegionClassifier,
    TrainingRows,
    cross_fit,
)
from anyscene.evaluation.baselines.evidence import LabeledImage


@dataclass(frozen=True, eq=False)
class DataTerm:
    """A fitted classifier, and out-of-fold beliefs of each training image's finest regions, float32[n, C].

    A CRF's parameters are chosen on the latter: on what it was fitted to, the classifier needs no CRF.
    """

    classifier: RegionClassifier
    beliefs: list[NDArray[np.float32]]


def fit_data_term(
    images: Sequence[LabeledImage],
    classes: int,
    settings: ClassifierSettings,
    random: np.random.Generator,
    sets: Sequence[str] | None = None,
) -> DataTerm:
    """Fit the classifier to the finest regions. sets : the feature sets that it looks at; none: all."""
    classifier, belief = cross_fit(finest_rows(images, classes, sets), settings, random)
    sizes = [len(image.evidence.features[-1]) for image in images]
    return DataTerm(classifier, np.split(belief, np.cumsum(sizes)[:-1]))


def finest_rows(
    images: Sequence[LabeledImage], classes: int, sets: Sequence[str] | None = None
) -> TrainingRows:
    """The finest regions of all images, with the features of some sets (none: all)."""
    sizes = [len(image.evidence.features[-1]) for image in images]
    chosen = list(sets or images[0].evidence.widths)
    return TrainingRows(
        np.concatenate([image.evidence.columns(chosen) for image in images]),
        np.concatenate([image.counts(classes)[-1] for image in images]),
        np.repeat([image.fold for image in images], sizes),
        images[0].evidence.opinions_among(chosen),
    )


def spread(count: int, most: int) -> list[int]:
    """At most so many of `count` images, evenly spread: enough to choose a few parameters on."""
    return sorted(set(np.linspace(0, count - 1, min(count, most)).round().astype(int).tolist()))
