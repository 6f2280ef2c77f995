"""The bench `budgets`: does more time ever give less?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from anyscene import metrics
from anyscene.apps.demo import STREETS_MODEL
from anyscene.data import SceneList
from anyscene.data import open as open_data
from anyscene.engine import Engine, load
from anyscene.errors import ConfigError
from benchmarks.figures import Bar, Figure, Request

BUDGETS = (1, 2, 3, 5, 7, 10, 20, 50, 100, 1000, 10_000, None)
"""Milliseconds; None is no limit."""

IMAGES = 100
"""Evenly spread over the scenes."""

PRIOR_BUDGETS = (3, 5, 7)
"""The first labels take half a millisecond, so these must never give the prior."""


STREETS = f"streets:{IMAGES}?size=480x360"
"""As in the demo, which shows some of them; its model was fitted to others."""


def run(request: Request) -> Iterator[Figure]:
    """Measure `request.model` on the scenes of `request.data`; and the demo's model on generated streets."""
    if request.data is None and request.model is not None:
        raise ConfigError("--model needs --data with the model's classes")
    if request.data is not None:
        scenes = open_data(request.data).split(request.split or "val")
        yield from _figures(load(request.model or "camvid"), scenes, "")
    yield from _figures(load(STREETS_MODEL), open_data(STREETS).split("all"), "streets of the demo: ")


def _figures(engine: Engine, scenes: SceneList, prefix: str) -> Iterator[Figure]:
    accuracy, priors = _by_budget(engine, scenes)
    parts = {"points": accuracy, "images": min(IMAGES, len(scenes))}
    name = f"{prefix}accuracy lost by a longer budget"
    yield Figure(name, Bar("at most", 0.1), lost_by_more_time(accuracy), "points", parts)
    early = {f"{budget} ms": priors[f"{budget} ms"] for budget in PRIOR_BUDGETS}
    name = f"{prefix}calls of 3 to 7 ms that gave the prior"
    yield Figure(name, Bar("at most", 0), sum(early.values()), parts=early)


def _by_budget(engine: Engine, scenes: SceneList) -> tuple[dict[str, float], dict[str, int]]:
    """Mean accuracy in points, and how many calls gave the prior, by budget."""
    chosen = np.linspace(0, len(scenes) - 1, min(IMAGES, len(scenes))).round().astype(int).tolist()
    names = {budget: "no limit" if budget is None else f"{budget} ms" for budget in BUDGETS}
    right: dict[str, list[float]] = {name: [] for name in names.values()}
    priors = dict.fromkeys(names.values(), 0)
    for place, index in enumerate(chosen):
        scene = scenes[index]
        if scene.truth is None:
            continue
        # In turns, forwards and backwards: whatever slows the machine down for a while hits all budgets.
        for budget, name in list(names.items())[:: 1 if place % 2 else -1]:
            out = engine.label(scene.image, budget)
            counts = metrics.count(scene.truth, out.labels, len(engine.classes))
            right[name].append(100 * metrics.pixel_accuracy(counts))
            priors[name] += out.is_prior
    return {name: float(np.mean(values)) for name, values in right.items()}, priors


def lost_by_more_time(accuracy: Mapping[str, float]) -> float:
    """The most by which a budget is below any shorter one; they come in rising order."""
    values = np.array(list(accuracy.values()))
    return float((np.maximum.accumulate(values) - values).max())
