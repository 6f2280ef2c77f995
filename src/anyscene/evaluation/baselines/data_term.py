"""Classifiers of regions with honest beliefs of training images, and the data term that both CRFs share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from anyscene.evaluation.baselines.classifier import (
    ClassifierSettings,
    RegionClassifier,
    TrainingRows,
    cross_fit,
)
from anyscene.evaluation.baselines.evidence import Images


@dataclass(frozen=True, eq=False)
class Stacked:
    """A fitted classifier, and out-of-fold beliefs of each training image's regions, float32[n, C].

    Whatever is stacked on the classifier learns from these beliefs: they are as wrong as on a new image.
    """

    classifier: RegionClassifier
    beliefs: list[NDArray[np.float32]]


def fit_layer(
    images: Images,
    tables: Sequence[NDArray[np.float32]],
    counts: Sequence[NDArray[np.int64]],
    opinions: tuple[int, ...],
    settings: ClassifierSettings,
    random: Generator,
) -> Stacked:
    """Fit a classifier to one layer's regions of all images.

    tables : for each image, the features of its regions, float32[n, D].
    counts : for each image, labeled pixels by class, int64[n, C].
    opinions : the first column of each source of class probabilities.
    """
    sizes = [len(table) for table in tables]
    folds = np.repeat([image.fold for image in images], sizes)
    rows = TrainingRows(np.concatenate(tables), np.concatenate(counts), folds, opinions)
    classifier, belief = cross_fit(rows, settings, random)
    return Stacked(classifier, np.split(belief, np.cumsum(sizes)[:-1]))


def fit_data_term(
    images: Images,
    classes: int,
    settings: ClassifierSettings,
    random: Generator,
    sets: Sequence[str] | None = None,
) -> Stacked:
    """Fit a classifier to the finest regions.

    sets : the feature sets that it looks at; None stands for all.
    """
    chosen = list(sets or images[0].evidence.widths)
    tables = [image.evidence.columns(chosen) for image in images]
    counts = [image.counts(classes)[-1] for image in images]
    return fit_layer(images, tables, counts, images[0].evidence.opinions_among(chosen), settings, random)
