"""How good label maps are: a confusion matrix counted map by map, and scores read off it.

A matrix is int64[classes, classes + 1]: rows are the truth, columns the labels given; matrices of several
maps are summed before they are scored. Pixels of void truth appear nowhere. The last column holds pixels
that got no class (label void): they count against the class that they truly are, and as an answer of none.

Examples:
    >>> import numpy as np
    >>> truth = np.array([[0, 0, 1, -1]], np.int16)  # -1: unknown, and not counted
    >>> labels = np.array([[0, 1, 1, 1]], np.int16)
    >>> counts = anyscene.metrics.count(truth, labels, 2)
    >>> print(round(anyscene.metrics.pixel_accuracy(counts), 3), anyscene.metrics.mean_iou(counts))
    0.667 0.5

"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.data.classes import Classes
from anyscene.errors import DataError
from anyscene.metrics_kernels import tally

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class ClassScore:
    """How one class fared: its pixels in the truth, the share found, and intersection over union."""

    name: str
    pixels: int
    accuracy: float
    iou: float


def count(truth: NDArray[np.int16], labels: NDArray[np.int16], n_classes: int) -> Counts:
    """The confusion matrix of one label map, int64[n_classes, n_classes + 1]."""
    if truth.shape != labels.shape or truth.ndim != 2:
        raise DataError(f"truth and labels must be maps of one size, found {truth.shape} and {labels.shape}")
    counts = np.zeros((n_classes, n_classes + 1), np.int64)
    strays = tally(truth, labels, counts)
    if strays:
        raise DataError(
            f"{strays} pixels hold ids outside -1..{n_classes - 1}; are truth and labels of the same classes?"
        )
    return counts


def pixel_accuracy(counts: Counts) -> float:
    """The share of known pixels that are labeled right; NaN when none is known."""
    return float(_ratio(np.trace(counts), counts.sum()))


def class_accuracy(counts: Counts) -> float:
    """The mean over classes of the share of their pixels that was found."""
    return _mean_over_present(_accuracies(counts), counts)


def mean_iou(counts: Counts) -> float:
    """The mean over classes of intersection over union."""
    return _mean_over_present(_ious(counts), counts)


def per_class(counts: Counts, classes: Classes) -> tuple[ClassScore, ...]:
    """The scores of each class; NaN where the truth never shows it."""
    return tuple(
        ClassScore(name, int(pixels), float(accuracy), float(iou) if pixels else float("nan"))
        for name, pixels, accuracy, iou in zip(
            classes.names, counts.sum(axis=1), _accuracies(counts), _ious(counts), strict=True
        )
    )


def _accuracies(counts: Counts) -> NDArray[np.float64]:
    return _ratio(np.diagonal(counts), counts.sum(axis=1))


def _ious(counts: Counts) -> NDArray[np.float64]:
    found = np.diagonal(counts)
    given = counts.sum(axis=0)[: len(counts)]
    return _ratio(found, counts.sum(axis=1) + given - found)


def _mean_over_present(scores: NDArray[np.float64], counts: Counts) -> float:
    """The mean over the classes that the truth shows: of the others there is nothing to find."""
    present = counts.any(axis=1)
    return float(scores[present].mean()) if present.any() else float("nan")


def _ratio(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    ratios = np.full(np.shape(whole), np.nan)
    np.divide(part, whole, out=ratios, where=np.greater(whole, 0))
    return ratios
