"""A small grid search over the settings that matter, judged on held-out images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from anyscene.data import DataSet
from anyscene.learning.config import TrainConfig
from anyscene.learning.train import train

GRID: dict[str, tuple[float, ...]] = {"alpha": (0.25, 0.5, 1.0), "shrinkage": (0.2, 0.3)}
"""α decides how deep the tree is before labels are learned; γ is searched in every run."""

SEARCH_IMAGES = 120

Curve = Mapping[str, Sequence[float]]
"""Accuracies at budgets in ms."""


def search_config(dataset: DataSet, out: Path, config: TrainConfig, seed: int, **options: Any) -> TrainConfig:
    """Train small models for every combination of GRID and return the config of the best.

    Best: largest area under D-NM's curve on held-out images, all over the same budgets. Runs are kept beside
    `out` and can be resumed; all share the first one's costs.
    """
    images = min(config.images or SEARCH_IMAGES, SEARCH_IMAGES)
    costs = options.pop("costs", None)
    curves: dict[str, Curve] = {}
    choices: dict[str, dict[str, float]] = {}
    for values in product(*GRID.values()):
        chosen = dict(zip(GRID, values, strict=True))
        label = ", ".join(f"{name} {value:g}" for name, value in chosen.items())
        trial = out.with_name(f"{out.name}.search") / f"{label.replace(', ', '-').replace(' ', '')}.anyscene"
        tried = config.model_copy(update={**chosen, "images": images})
        trained = train(dataset, trial, tried, seed, costs=costs, **options)
        costs = costs or trial.with_name(trial.name + ".run") / "costs.json"
        curves[label], choices[label] = trained.record["held-out curve"], chosen
    areas = common_areas(curves)
    best = max(areas, key=areas.__getitem__)
    for label, area in areas.items():
        note = f"{label}: held-out area {area:.4f}" + (", chosen" if label == best else "")
        options["report"]("search", 1, 1, note)
    return config.model_copy(update=choices[best])


def common_areas(curves: Mapping[str, Curve]) -> dict[str, float]:
    """Area under each curve over log cost, from where all have labels to where all have ended.

    Over its own range a curve that starts late or ends early would look better or worse than it is.
    """
    first = max(curve["ms"][0] for curve in curves.values())
    full = max(curve["ms"][-1] for curve in curves.values())
    budgets = np.geomspace(first, max(full, first), 256)
    areas = {}
    for label, curve in curves.items():
        last = np.searchsorted(curve["ms"], budgets * (1 + 1e-9), side="right") - 1
        areas[label] = float(np.asarray(curve["accuracy"])[last].mean())
    return areas
