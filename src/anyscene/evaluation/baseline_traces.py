"""Running the fitted baselines on images, at the costs that they were priced at or by the clock."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from anyscene import metrics
from anyscene.evaluation.baselines.answers import answers_of, looks_at_all_layers
from anyscene.evaluation.baselines.evidence import gather
from anyscene.evaluation.baselines.fitted import FittedBaselines
from anyscene.evaluation.baselines.labeler import BeliefMap
from anyscene.evaluation.scored_image import ScoredImage
from anyscene.evaluation.traces import Trace, count_by_region
from anyscene.features import RegionFeatures, View
from anyscene.features.training import labels_at
from anyscene.hierarchy import Tree, working_frame
from anyscene.metrics import Counts


def trace_baseline(fitted: FittedBaselines, system: str, image: ScoredImage, alpha: float) -> Trace:
    """Label an image whose features, of the fitted sets, are known already; costs are as they were priced.

    alpha : the weight of impurity in the labeling loss (Eq. 3).
    """
    evidence = image.full_evidence(fitted.bank)
    steps = answers_of(system, fitted.labelers[system], tuple(fitted.bank))
    return _trace(image, [answer(evidence) for _, answer in steps], fitted.costs[system], alpha)


def trace_baseline_by_clock(fitted: FittedBaselines, system: str, image: ScoredImage, alpha: float) -> Trace:
    """Label an image from the decoded pixels on, and time all that it takes."""
    classes = image.counts.shape[1]
    answers, costs = [], []
    for sets, answer in answers_of(system, fitted.labelers[system], tuple(fitted.bank)):
        begun = time.perf_counter()
        frame = working_frame(image.scene.image)
        regions = RegionFeatures(fitted.bank, View(frame), Tree(frame))
        found = answer(gather(regions, sets, classes, finest_only=not looks_at_all_layers(system)))
        found.labels()
        costs.append(1e3 * (time.perf_counter() - begun))
        answers.append(found)
    return _trace(image, answers, costs, alpha)


def _trace(image: ScoredImage, answers: Sequence[BeliefMap], costs: Sequence[float], alpha: float) -> Trace:
    """One step an answer. Costs never fall: a step comes after the one before, even if it infers faster."""
    scored = [_score(image, answer, alpha) for answer in answers]
    return Trace(
        np.maximum.accumulate(np.array(costs, np.float64)),
        np.array([loss for _, loss in scored]),
        np.stack([counts for counts, _ in scored]),
        np.zeros(0, np.int64),
        np.zeros(0, np.int64),
    )


def _score(image: ScoredImage, answer: BeliefMap, alpha: float) -> tuple[Counts, float]:
    """The confusion matrix of an answer and its labeling loss (Eq. 3). Single pixels are never impure."""
    assert image.scene.truth is not None
    truth = image.scene.truth
    finest = slice(int(image.evidence.tree.start[-2]), None)
    if len(answer.belief) == len(image.counts[finest]):
        counts = count_by_region(image.counts[finest], answer.belief.argmax(axis=1))
        impurity = float(image.truth.impurity[finest].sum(dtype=np.float64))
    else:
        labels = labels_at(answer.labels(), (truth.shape[0], truth.shape[1]))
        counts = metrics.count(truth, labels, image.counts.shape[1])
        impurity = 0.0
    small = labels_at(truth, (answer.cells.shape[0], answer.cells.shape[1]))
    return counts, answer.loss(small) + alpha * impurity
