"""What each step of work costs on this machine: a small model of CPU milliseconds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from anyscene.errors import ConfigError
from anyscene.features.ledger import Work

SCHEMA = 7
"""Raise it when a calibrated step changes, painting included: old times would mislead."""

LONGEST_MS = 1e6
"""No step takes a quarter of an hour."""


@dataclass(frozen=True)
class StepCost:
    """Milliseconds of one step: fixed + per_pixel * pixels + per_region * regions.

    high: the factor over what is typical that hardly any run exceeds (at least 95 % stay below).
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
        """The inverse of `to_json`; a ValueError where times cannot be what was measured."""
        steps = {step: StepCost(**cost) for step, cost in data["steps"].items()}
        for step, cost in steps.items():
            times = (cost.fixed, cost.per_pixel, cost.per_region, cost.high - 1)
            if not all(isinstance(ms, int | float) and 0 <= ms <= LONGEST_MS for ms in times):
                raise ValueError(f"step {step[:100]!a} has times that cannot be")
        return cls(data["key"], steps)
