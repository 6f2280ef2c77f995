"""The model's milliseconds against this machine's, so that the network alone is on the model's scale.

A model's costs were measured where it was trained, each step by itself. What is timed as it runs, here, now,
can be compared with them only if it is known how long labeling takes here beside what the model says. A
machine's speed varies from minute to minute, so the two are timed in turns where they are compared.
"""

from __future__ import annotations

import time
from dataclasses import replace
from statistics import median

import numpy as np
from numpy.typing import NDArray

from anyscene.data import SceneList
from anyscene.engine.loading import learned_from
from anyscene.engine.preparing import prepare
from anyscene.evaluation.scores import Curve, Scores
from anyscene.model.modelfile import TrainedModel

TIMED_IMAGES = 16
ROUNDS = 2

DISTANT = "10min"
"""A deadline that every plan meets."""


class Pace:
    """Labels images without a limit: CPU time from the image to the labels, over the cost by the model.

    Whatever is timed is done twice: the first time finds the caches as something else left them.
    """

    def __init__(self, trained: TrainedModel) -> None:
        self._engine = prepare(learned_from(trained))
        self._ratios: list[float] = []
        self._planned = [self._engine.by_plan(plan) for plan in trained.plans]
        self._plan_ms: list[list[float]] = []

    def time(self, image: NDArray[np.uint8]) -> None:
        """Label one more image."""
        for _ in range(2):
            begun = time.thread_time()
            run = self._engine.begin(image)
            run.finish()
            run.labeling()
            took = time.thread_time() - begun
        self._ratios.append(took * 1e3 / run.state.cost)

    def time_plans(self, image: NDArray[np.uint8]) -> None:
        """Label one more image by each plan, as a deadline that leaves time enough would."""
        took = []
        for engine in self._planned:
            for _ in range(2):
                begun = time.thread_time()
                engine.label(image, DISTANT)
                ended = time.thread_time()
            took.append(1e3 * (ended - begun))
        self._plan_ms.append(took)

    @property
    def ratio(self) -> float:
        """The median over the images so far."""
        return median(self._ratios)

    @property
    def plan_costs(self) -> NDArray[np.float64]:
        """What the plans take, in the model's milliseconds; medians over the images so far, float64[P]."""
        return np.asarray(np.median(np.array(self._plan_ms), axis=0) / self.ratio, np.float64)


def measure_pace(trained: TrainedModel, scenes: SceneList) -> float:
    """The pace at which some scenes are labeled now."""
    pace = Pace(trained)
    images = [scenes.image(i) for i in range(0, len(scenes), max(1, len(scenes) // TIMED_IMAGES))]
    for image in ROUNDS * images:
        pace.time(image)
    return pace.ratio


def in_model_time(scores: Scores, pace: float) -> Scores:
    """Scores of a system that was timed on this machine, with costs in the model's milliseconds."""

    def paced(curve: Curve) -> Curve:
        return replace(curve, cost=curve.cost / pace)

    return replace(
        scores, curve=paced(scores.curve), cost_ms=scores.cost_ms / pace, final=paced(scores.final)
    )
