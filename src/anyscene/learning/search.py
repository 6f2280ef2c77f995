"""A small grid search over the settings that matter, judged on held-out images."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

from anyscene.data import DataSet
from anyscene.learning.config import TrainConfig
from anyscene.learning.train import train

GRID: dict[str, tuple[float, ...]] = {"alpha": (0.25, 0.5, 1.0), "shrinkage": (0.2, 0.3)}
"""α decides how deep the tree is before labels are learned; γ is searched in every run."""

SEARCH_IMAGES = 120


def search_config(dataset: DataSet, out: Path, config: TrainConfig, seed: int, **options: Any) -> TrainConfig:
    """Train small models for every combination of GRID and return the config of the best.

    Best: largest area under D-NM's curve on held-out images. Runs are kept beside `out` and can be resumed;
    all share the first one's costs.
    """
    images = min(config.images or SEARCH_IMAGES, SEARCH_IMAGES)
    best: tuple[float, dict[str, float]] | None = None
    costs = options.pop("costs", None)
    for values in product(*GRID.values()):
        chosen = dict(zip(GRID, values, strict=True))
        label = "-".join(f"{name}{value:g}" for name, value in chosen.items())
        trial = out.with_name(f"{out.name}.search") / f"{label}.anyscene"
        tried = config.model_copy(update={**chosen, "images": images})
        trained = train(dataset, trial, tried, seed, costs=costs, **options)
        costs = costs or trial.with_name(trial.name + ".run") / "costs.json"
        score = trained.record["held out"]["D-NM"]["area over log cost"]
        options["report"]("search", 1, 1, f"{label}: held-out area {score:.4f}")
        if best is None or score > best[0]:
            best = score, chosen
    assert best is not None
    return config.model_copy(update=best[1])
