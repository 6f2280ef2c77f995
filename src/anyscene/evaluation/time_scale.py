"""How this machine's milliseconds compare with the model's, so that times taken here fit its costs.

A model's costs were measured step by step where it was trained. To compare them with times taken here, we
need to know how long labeling takes here for each millisecond by the model. A machine's speed varies from
minute to minute, so both are timed in turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from statistics import median
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from anyscene.data import SceneList
from anyscene.engine.loading import learned_from
from anyscene.engine.ready import prepare
from anyscene.evaluation.scores import Curve, Scores
from anyscene.modelfile import TrainedModel

Result = TypeVar("Result")

TIMED_IMAGES = 16
"""The scenes that `measure_time_scale` labels, in each of its rounds."""

ROUNDS = 2

DISTANT = "10min"
"""A deadline that every plan meets."""


class TimeScale:
    """Times a model on images: the CPU time from the image to the labels, over the cost by the model."""

    def __init__(self, trained: TrainedModel) -> None:
        self._engine = prepare(learned_from(trained))
        self._ratios: list[float] = []
        self._planned = [self._engine.by_plan(plan) for plan in trained.plans]
        self._plan_ms: list[list[float]] = []

    def time(self, image: NDArray[np.uint8]) -> None:
        """Label one more image without a limit."""

        def label() -> float:
            run = self._engine.begin(image)
            run.finish()
            run.labeling()
            return run.state.cost

        took, cost = _second_time(label)
        self._ratios.append(took / cost)

    def time_plans(self, image: NDArray[np.uint8]) -> None:
        """Label one more image by each plan, as a deadline that leaves enough time would."""
        calls = [partial(engine.label, image, DISTANT) for engine in self._planned]
        self._plan_ms.append([_second_time(call)[0] for call in calls])

    @property
    def ratio(self) -> float:
        """Milliseconds here for one of the model's; the median over the images so far."""
        return median(self._ratios)

    @property
    def plan_costs(self) -> NDArray[np.float64]:
        """What the plans take, in the model's milliseconds; medians over the images so far, float64[P]."""
        return np.asarray(np.median(np.array(self._plan_ms), axis=0) / self.ratio, np.float64)


def measure_time_scale(trained: TrainedModel, scenes: SceneList) -> float:
    """The ratio at which some scenes are labeled now."""
    scale = TimeScale(trained)
    images = [scenes.image(i) for i in range(0, len(scenes), max(1, len(scenes) // TIMED_IMAGES))]
    for image in ROUNDS * images:
        scale.time(image)
    return scale.ratio


def in_model_time(scores: Scores, ratio: float) -> Scores:
    """Scores of a system that was timed on this machine, with costs in the model's milliseconds."""

    def scaled(curve: Curve) -> Curve:
        return replace(curve, cost=curve.cost / ratio)

    return replace(
        scores, curve=scaled(scores.curve), cost_ms=scores.cost_ms / ratio, final=scaled(scores.final)
    )


def _second_time(work: Callable[[], Result]) -> tuple[float, Result]:
    """CPU milliseconds of some work, and its result; the first time, which warms caches, does not count."""
    work()
    begun = time.thread_time()
    result = work()
    return 1e3 * (time.thread_time() - begun), result
