"""How a fitted baseline answers: in one step, or (F-SM) in several, each with one more feature set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from anyscene.evaluation.baselines.crf_labeler import RegionCrfLabeler
from anyscene.evaluation.baselines.evidence import ImageEvidence
from anyscene.evaluation.baselines.feature_selection import FeatureSelection
from anyscene.evaluation.baselines.labeler import BeliefMap, Labeler

Answer = Callable[[ImageEvidence], BeliefMap]


def answers_of(key: str, labeler: Labeler, sets: Sequence[str]) -> list[tuple[tuple[str, ...], Answer]]:
    """The feature sets that each step of a system looks at, and how it answers.

    sets : all feature sets; systems other than F-SM look at every one.
    """
    if isinstance(labeler, FeatureSelection):
        return [
            (labeler.sequence[: stage + 1], partial(labeler.label_at, stage))
            for stage in range(len(labeler.stages))
        ]
    if key == "data-term":  # reported as a system of its own, from DCRF's file
        assert isinstance(labeler, RegionCrfLabeler)
        return [(tuple(sets), labeler.label_without_crf)]
    return [(tuple(sets), labeler.label)]


def looks_at_all_layers(key: str) -> bool:
    """Whether a system looks at every layer of the tree, not at the finest alone."""
    return key == "him"
