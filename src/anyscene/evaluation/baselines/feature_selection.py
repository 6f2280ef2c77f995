"""F-SM: static myopic feature selection with DCRF as its model.

Feature sets are added one at a time, the same for every image: whichever raises the accuracy on left-out
training images most for its cost. After each there is a DCRF of its own, so an image has an answer at every
prefix of the sequence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from anyscene.data.splits import evenly_spread
from anyscene.evaluation.baselines.classifier import ClassifierSettings
from anyscene.evaluation.baselines.crf_labeler import RegionCrfLabeler
from anyscene.evaluation.baselines.data_term import fit_data_term
from anyscene.evaluation.baselines.evidence import ImageEvidence, Images
from anyscene.evaluation.baselines.labeler import BeliefMap
from anyscene.named_arrays import Arrays, prefixed, under

CostOf = Callable[[Sequence[str]], float]
"""The milliseconds that some feature sets take to compute; what they share counts once."""

TRIAL_IMAGES = 40
TRIAL_TREES, TRIAL_SAMPLES = 20, 6000
"""Small classifiers are enough to tell which set is best."""


@dataclass(frozen=True, eq=False)
class FeatureSelection:
    """A fitted F-SM; stage k looks at the first k + 1 feature sets of the sequence."""

    sequence: tuple[str, ...]
    stages: tuple[RegionCrfLabeler, ...]
    name: ClassVar[str] = "F-SM"

    @classmethod
    def fit(
        cls,
        images: Images,
        classes: int,
        random: Generator,
        settings: ClassifierSettings | None = None,
        cost_of: CostOf = len,
    ) -> FeatureSelection:
        """Choose the sequence, then fit a DCRF to each of its prefixes."""
        settings = settings or ClassifierSettings()
        sequence = choose_sequence(images, classes, random, settings, cost_of)
        stages = []
        for size in range(1, len(sequence) + 1):
            term = fit_data_term(images, classes, settings, random, sequence[:size])
            stages.append(RegionCrfLabeler.on_data_term(term, images))
        return cls(sequence, tuple(stages))

    def label(self, evidence: ImageEvidence) -> BeliefMap:
        """Beliefs with all the sets of the sequence."""
        return self.label_at(len(self.stages) - 1, evidence)

    def label_at(self, stage: int, evidence: ImageEvidence) -> BeliefMap:
        """Beliefs at one stage."""
        return self.stages[stage].label_by(evidence.columns(self.sequence[: stage + 1]), evidence)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that was learned."""
        named: dict[str, NDArray[Any]] = {
            "sequence": np.frombuffer(json.dumps(self.sequence).encode(), np.uint8)
        }
        for k, stage in enumerate(self.stages):
            named |= prefixed(str(k), stage.arrays())
        return named

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> FeatureSelection:
        """The inverse of `arrays`."""
        sequence = tuple(json.loads(arrays["sequence"].tobytes()))
        stages = (RegionCrfLabeler.from_arrays(under(str(k), arrays)) for k in range(len(sequence)))
        return cls(sequence, tuple(stages))


def choose_sequence(
    images: Images,
    classes: int,
    random: Generator,
    settings: ClassifierSettings,
    cost_of: CostOf,
) -> tuple[str, ...]:
    """Add feature sets by the accuracy that each gains per millisecond, until none gains any."""
    few = [images[i] for i in evenly_spread(len(images), TRIAL_IMAGES)]
    trial = replace(
        settings,
        trees=min(settings.trees, TRIAL_TREES),
        samples=min(settings.samples, TRIAL_SAMPLES),
    )

    def accuracy(sets: Sequence[str]) -> float:
        belief = np.concatenate(fit_data_term(few, classes, trial, random, sets).beliefs)
        return float(counts[np.arange(len(belief)), belief.argmax(axis=1)].sum() / max(counts.sum(), 1))

    counts = np.concatenate([image.counts(classes)[-1] for image in few])
    totals = counts.sum(axis=0)
    chosen: tuple[str, ...] = ()
    reached, spent = float(totals.max() / max(totals.sum(), 1)), 0.0
    left = list(images[0].evidence.widths)
    while left:
        reached_by = {name: accuracy((*chosen, name)) for name in left}
        costs = {name: max(cost_of((*chosen, name)) - spent, 1e-3) for name in left}
        best = max(left, key=lambda name: (reached_by[name] - reached) / costs[name])
        if reached_by[best] <= reached and chosen:
            break
        chosen = (*chosen, best)
        reached, spent = reached_by[best], spent + costs[best]
        left.remove(best)
    return chosen
