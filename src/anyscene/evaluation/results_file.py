"""`results.json` and `curves.csv`: what a report says, for programs."""

from __future__ import annotations

import csv
import io
import json
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import anyscene
from anyscene.errors import DataError
from anyscene.evaluation.scores import Curve, Scores
from anyscene.files import write_atomically
from anyscene.machine import processor_name
from anyscene.marks import marked

RESULTS, CURVES = "results.json", "curves.csv"
COLUMNS = ("cost_ms", "pixel", "class", "iou", "loss")


def results_document(
    about: Mapping[str, Any], scores: Sequence[Scores], headline: Mapping[str, Any]
) -> dict[str, Any]:
    """The document of docs/evaluation.md. about : data, split, model, machine, clock and whatever else."""
    return {
        **about,
        "systems": [
            {
                "name": own.name,
                **_points(own.final)[0],
                "cost_ms": _number(own.cost_ms),
                "curve": _points(own.curve),
            }
            for own in scores
        ],
        "headline": dict(headline),
    }


def write_results(folder: Path, document: Mapping[str, Any]) -> None:
    """Write `results.json` and `curves.csv`."""
    with write_atomically(folder / RESULTS) as file:
        file.write((json.dumps(marked(document), indent=1, allow_nan=False) + "\n").encode())
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(("system", *COLUMNS))
    for system in document["systems"]:
        for point in system["curve"]:
            writer.writerow((system["name"], *(point[column] for column in COLUMNS)))
    with write_atomically(folder / CURVES) as file:
        file.write(table.getvalue().encode())


def read_results(folder: Path) -> dict[str, Any]:
    """Read the results of a report, given by its folder or by the file itself."""
    path = folder / RESULTS if folder.is_dir() else folder
    try:
        document = json.loads(path.read_text())
        names = [system["name"] for system in document["systems"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path} is no result of `anyscene evaluate` ({error}); name the folder of a report"
        ) from error
    if not names:
        raise DataError(f"{path} holds no systems; run `anyscene evaluate` again")
    return dict(document)


def this_machine() -> dict[str, Any]:
    """What the figures were made on."""
    return {
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "anyscene": anyscene.__version__,
    }


def _points(curve: Curve) -> list[dict[str, float | None]]:
    rows = zip(curve.cost, curve.pixel, curve.class_mean, curve.iou, curve.loss, strict=True)
    return [dict(zip(COLUMNS, map(_number, row), strict=True)) for row in rows]


def _number(value: float) -> float | None:
    """Six digits say all there is; what is not known is null."""
    return float(f"{value:.6g}") if np.isfinite(value) else None
