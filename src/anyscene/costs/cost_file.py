"""The cost file of a training run: measured on this machine, or read; and what actions cost by it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.costs.actions import action_costs, with_painting
from anyscene.costs.calibration_file import calibration_key, load_calibration
from anyscene.costs.measuring import calibrate
from anyscene.costs.overheads import OVERHEADS, measure_overheads
from anyscene.costs.painting import measure_leaves, measure_painting
from anyscene.costs.steps import CostModel
from anyscene.data import DataSet
from anyscene.errors import ConfigError
from anyscene.features import Bank
from anyscene.hierarchy import working_frame
from anyscene.model.action_costs import ActionCosts


def measure_costs(bank: Bank, data: DataSet) -> dict[str, Any]:
    """What every step costs here: the user's calibration if there is one for these sets, else a quick one."""
    model = load_calibration(calibration_key(bank)) or calibrate(bank, quick=True)
    scenes = data.split("train")
    frame = working_frame(scenes.image(len(scenes) // 2))
    return {
        "steps": model.to_json(),
        "overheads": measure_overheads(len(data.classes)),
        "painting": measure_painting(bank, frame, len(data.classes)),
        "leaves": measure_leaves(frame),
    }


def read_costs(path: str | Path) -> Any:
    """Read a cost file; an error says in one sentence what is wrong with it."""
    try:
        return json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"cannot read the cost file {path} ({error}); name the costs.json of a run, or none to measure"
        ) from error


def price_actions(
    bank: Bank, frame: NDArray[np.uint8], measured: Mapping[str, Any], children: NDArray[np.float64]
) -> ActionCosts:
    """The costs of actions on a typical frame, from a cost file."""
    try:
        steps = CostModel.from_json(measured["steps"])
        overheads = {name: float(measured["overheads"][name]) for name in OVERHEADS}
        maps = {str(name): float(ms) for name, ms in measured["painting"].items()}
        leaves = float(measured["leaves"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(
            f"the cost file is not one of a training run ({error}); leave it out to measure"
        ) from error
    painting = max(leaves, min(maps.values(), default=0.0))
    overheads["start"] += painting
    costs = action_costs(
        bank, frame, lambda work: steps.predict(work.step, work.pixels, work.regions)[0], children, overheads
    )
    return with_painting(costs, tuple(bank), maps, painting)
