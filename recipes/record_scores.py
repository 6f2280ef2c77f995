"""Write the scores of a report into the model file that it is of.

    python recipes/record_scores.py MODEL REPORT

`anyscene models` shows them. Nothing else in the file changes.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from anyscene.modelfile import load_model, save_model


def main(model: Path, report: Path) -> None:
    """Add D-NM's scores on the report's split to the model's record, and its curve.

    The curve is the one by known deadlines, if the report has it.
    """
    results = json.loads((report / "results.json").read_text())
    systems = {system["name"]: system for system in results["systems"]}
    system = systems["D-NM"]
    whole = systems.get("D-NM by deadline", system)["curve"]
    before = [None, *(point["pixel"] for point in whole)]
    curve = [point for point, last in zip(whole, before, strict=False) if point["pixel"] != last]
    scores = {key: system[key] for key in ("pixel", "class", "iou")}
    scores["curve"] = [[point["cost_ms"], point["pixel"]] for point in curve]
    trained = load_model(model)
    save_model(model, replace(trained, record={**trained.record, results["split"]: scores}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
