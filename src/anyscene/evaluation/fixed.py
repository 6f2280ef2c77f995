"""Running the fitted baselines on images, at the costs they were priced at or by the clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import cv2
import numpy as np

from anyscene import metrics
from anyscene.evaluation.baselines import BeliefMap, FeatureSelection, ImageEvidence, Labeler, gather
from anyscene.evaluation.fitting import Fitted
from anyscene.evaluation.images import ScoredImage
from anyscene.evaluation.pricing import answer_of
from anyscene.evaluation.traces import Trace, count_by_region
from anyscene.features import RegionFeatures, View
from anyscene.hierarchy import Tree, working_frame
from anyscene.metrics import Counts

Answer = Callable[[ImageEvidence], BeliefMap]


def trace_fitted(fitted: Fitted, system: str, image: ScoredImage, alpha: float) -> Trace:
    """Label an image whose features, of the fitted sets, are in hand; costs are those of the calibration."""
    evidence = image.full_evidence(fitted.bank)
    steps = _steps(system, fitted.labelers[system], tuple(fitted.bank))
    return _trace(image, [answer(evidence) for _, answer in steps], fitted.costs[system], alpha)


def trace_fitted_by_clock(fitted: Fitted, system: str, image: ScoredImage, alpha: float) -> Trace:
    """Label an image from the decoded pixels on, timing all that it takes."""
    classes = image.counts.shape[1]
    answers, costs = [], []
    for sets, answer in _steps(system, fitted.labelers[system], tuple(fitted.bank)):
        begun = time.perf_counter()
        frame = working_frame(image.scene.image)
        regions = RegionFeatures(fitted.bank, View(frame), Tree(frame))
        found = answer(gather(regions, sets, classes, finest_only=system != "him"))
        found.labels()
        costs.append(1e3 * (time.perf_counter() - begun))
        answers.append(found)
    return _trace(image, answers, costs, alpha)


def _steps(system: str, labeler: Labeler, sets: tuple[str, ...]) -> list[tuple[tuple[str, ...], Answer]]:
    """The feature sets that each step looks at, and how it answers; only F-SM has several."""
    if not isinstance(labeler, FeatureSelection):
        return [(sets, answer_of(system, labeler))]
    return [
        (labeler.sequence[: stage + 1], partial(labeler.label_at, stage))
        for stage in range(len(labeler.stages))
    ]


def _trace(image: ScoredImage, answers: Sequence[BeliefMap], costs: Sequence[float], alpha: float) -> Trace:
    """Steps in order: one whose inference is cheaper than the one before still comes after it."""
    scored = [_score(image, answer, alpha) for answer in answers]
    return Trace(
        np.maximum.accumulate(np.array(costs, np.float64)),
        np.array([loss for _, loss in scored]),
        np.stack([counts for counts, _ in scored]),
        np.zeros(0, np.int64),
    )


def _score(image: ScoredImage, answer: BeliefMap, alpha: float) -> tuple[Counts, float]:
    """The confusion matrix of an answer and its labeling loss (Eq. 3); single pixels are never impure."""
    assert image.scene.truth is not None
    truth = image.scene.truth
    finest = slice(int(image.evidence.tree.start[-2]), None)
    if len(answer.belief) == len(image.counts[finest]):
        counts = count_by_region(image.counts[finest], answer.belief.argmax(axis=1))
        impurity = float(image.truth.impurity[finest].sum(dtype=np.float64))
    else:
        size = truth.shape[1], truth.shape[0]
        labels = cv2.resize(answer.labels(), size, interpolation=cv2.INTER_NEAREST)
        counts = metrics.count(truth, np.asarray(labels, np.int16), image.counts.shape[1])
        impurity = 0.0
    height, width = answer.cells.shape
    small = np.asarray(cv2.resize(truth, (width, height), interpolation=cv2.INTER_NEAREST), np.int16)
    return counts, answer.loss(small) + alpha * impurity
