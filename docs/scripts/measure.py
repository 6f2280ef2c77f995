"""Measure a shipped model as its user meets it, and keep the figures in docs/measured.json.

    anyscene calibrate --model camvid
    python docs/scripts/measure.py camvid camvid:$ANYSCENE_DATA/CamVid --deadlines

Every image of `val` is labelled without a limit, on one thread; with `--deadlines` also within every budget,
by the clock.
Beside it, the model's networks alone, each at its fixed input sizes.
Run it on a quiet machine. `docs/scripts/tables.py` puts the figures into the pages.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import anyscene
from anyscene import metrics
from anyscene.data import SceneList
from anyscene.engine.loading import find_model
from anyscene.evaluation.network_alone import (
    measure_network_alone,
    networks_of,
    squeezed_sizes,
    usual_sizes,
)
from anyscene.machine import processor_name
from anyscene.modelfile import load_model

MEASURED = Path(__file__).parents[1] / "measured.json"
BUDGETS_MS = (2, 5, 10, 20, 50)
SPLIT = "val"


def main(name: str, spec: str, deadlines: bool) -> None:
    """Measure one model and add it to the file."""
    dataset = anyscene.data.open(spec)
    scenes = dataset.split(SPLIT)
    facts = {"data": dataset.name, "split": SPLIT, "images": len(scenes), "machine": processor_name()}
    budgets = (*BUDGETS_MS, None) if deadlines else (None,)
    keep(name, {**facts, "within": within_budgets(name, scenes, budgets), "network": []})
    keep(name, {"network": network_alone(name, scenes)})


def keep(name: str, figures: dict[str, Any]) -> None:
    """Add figures of a model to the file."""
    known = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    known[name] = known.get(name, {}) | figures
    MEASURED.write_text(json.dumps(known, indent=1) + "\n")


def within_budgets(name: str, scenes: SceneList, budgets: Sequence[int | None]) -> dict[str, Any]:
    """Scores by budget; "" is no limit. Budgets take turns, so that none has all the quiet moments."""
    model = anyscene.load(name)
    shape = (len(model.classes), len(model.classes) + 1)
    counts = {budget: np.zeros(shape, np.int64) for budget in budgets}
    labelings: dict[int | None, list[tuple[float, bool]]] = {budget: [] for budget in budgets}
    for scene in scenes:
        assert scene.truth is not None
        for budget in budgets:
            out = model.label(scene.image, budget)
            counts[budget] += metrics.count(scene.truth, out.labels, len(model.classes))
            labelings[budget].append((out.cost, out.deadline_met is False))
    return {
        "" if budget is None else str(budget): {
            **scores(counts[budget]),
            "median_ms": float(np.median([cost for cost, _ in labelings[budget]])),
            "late": float(np.mean([late for _, late in labelings[budget]])),
            "classes": {
                one.name: [one.pixels, rounded(one.accuracy), rounded(one.iou)]
                for one in metrics.per_class(counts[budget], model.classes)
            },
        }
        for budget in budgets
    }


def network_alone(name: str, scenes: SceneList) -> list[dict[str, Any]]:
    """The model's networks at their fixed input sizes, cheapest first."""
    trained = load_model(find_model(name))
    networks = networks_of(trained)
    sizes = [
        size
        for network in networks
        for size in (*usual_sizes(network), *squeezed_sizes(trained.model.pool.sets, network))
    ]
    # CPU time: others may keep the machine busy.
    points = measure_network_alone(networks, scenes, sizes, time.thread_time)
    ordered = sorted(points, key=lambda point: point.cost_ms)
    return [{"size": point.rung.short, "ms": point.cost_ms, **scores(point.counts)} for point in ordered]


def scores(counts: NDArray[np.int64]) -> dict[str, float]:
    """The three usual scores of a confusion matrix."""
    return {
        "pixel": metrics.pixel_accuracy(counts),
        "class": metrics.class_accuracy(counts),
        "iou": metrics.mean_iou(counts),
    }


def rounded(share: float) -> float | None:
    """A share as JSON can have it; None for a class that is never seen."""
    return None if np.isnan(share) else round(share, 4)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], "--deadlines" in sys.argv)
