"""What each step costs on this machine: a small model of CPU milliseconds, and where it is kept."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import anyscene
from anyscene.errors import ConfigError
from anyscene.features.ledger import Work
from anyscene.features.sets import Bank
from anyscene.files import cache_dir, write_atomically

SCHEMA = 5
"""To be raised when what is calibrated, painting among it, is done otherwise: old times would mislead."""


@dataclass(frozen=True)
class StepCost:
    """Milliseconds of one step: fixed + per_pixel * pixels + per_region * regions.

    high: the factor above which hardly any run ends (at least 95 % stay below).
    """

    fixed: float
    per_pixel: float
    per_region: float
    high: float

    def typical(self, work: Work) -> float:
        """The median cost of some work."""
        return self.fixed + self.per_pixel * work.pixels + self.per_region * work.regions


@dataclass(frozen=True)
class CostModel:
    """The costs of all steps on one machine, by step; `key` says on which, and for which sets."""

    key: str
    steps: Mapping[str, StepCost]

    def predict(self, step: str, pixels: int = 0, regions: int = 0) -> tuple[float, float]:
        """Typical and high milliseconds of a step."""
        if step not in self.steps:
            raise ConfigError(f"step '{step}' was never calibrated; run `anyscene calibrate` again")
        cost = self.steps[step]
        typical = cost.typical(Work(step, pixels, regions))
        return typical, typical * cost.high

    def predict_all(self, works: Iterable[Work]) -> tuple[float, float]:
        """Typical and high milliseconds of several steps, one after the other."""
        costs = [self.predict(work.step, work.pixels, work.regions) for work in works]
        return sum(typical for typical, _ in costs), sum(high for _, high in costs)

    def to_json(self) -> dict[str, Any]:
        """The model as plain JSON."""
        steps = {step: asdict(cost) for step, cost in sorted(self.steps.items())}
        return {"schema": SCHEMA, "key": self.key, "steps": steps}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CostModel:
        """The inverse of `to_json`."""
        return cls(data["key"], {step: StepCost(**cost) for step, cost in data["steps"].items()})


def calibration_key(bank: Bank) -> str:
    """What a calibration holds for: the machine, the versions of what runs on it, the sets' sizes."""
    packages = {name: version(name) for name in ("numpy", "numba", "onnxruntime", "scikit-learn")}
    sets = {
        name: (
            chosen.version,
            chosen.dimensions,
            {key: array.shape for key, array in chosen.arrays().items()},
        )
        for name, chosen in bank.items()
    }
    facts = (SCHEMA, platform.machine(), _processor(), os.cpu_count(), anyscene.__version__, packages, sets)
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def calibration_path(key: str) -> Path:
    """Where the calibration with this key is kept."""
    return cache_dir() / "calibration" / f"{key}.json"


def save_calibration(model: CostModel) -> Path:
    """Keep a calibration in the user's cache."""
    path = calibration_path(model.key)
    with write_atomically(path) as file:
        file.write(json.dumps(model.to_json(), indent=1).encode())
    return path


def load_calibration(key: str) -> CostModel | None:
    """The calibration with this key, or None when there is none that can be read."""
    try:
        data = json.loads(calibration_path(key).read_text())
        model = CostModel.from_json(data)
    except (OSError, ValueError, KeyError, TypeError):
        return None  # missing or damaged: it is made anew
    return model if data.get("schema") == SCHEMA and model.key == key else None


def _processor() -> str:
    """The processor's name; Linux keeps it in a file only."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
