"""What a bench is asked and what it answers: figures, each with its bar, as data.

A figure is one row of an issue's table: a number, the bar that it must clear, and the parts that it was
made of. Whatever is yes or no is written as a count of failures with a bar of at most 0.
"""

from __future__ import annotations

import importlib.util
import math
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

import anyscene
from anyscene.machine import processor_name


@dataclass(frozen=True)
class Request:
    """What the caller gives a bench to work on; a figure whose data was not given is skipped.

    data: a data set specification. split: which part of it; None leaves the choice to the bench.
    model: a model or backbone file; None stands for the one that ships.
    reports: folders that `anyscene evaluate` wrote, by name.
    """

    data: str | None = None
    split: str | None = None
    model: str | None = None
    reports: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Bar:
    """What a value is held to."""

    comparison: Literal["at most", "at least"]
    value: float

    def holds(self, value: float) -> bool:
        """Whether a value clears the bar; NaN never does."""
        # Values are often NumPy's numbers, whose comparisons are no bool.
        return bool(value <= self.value if self.comparison == "at most" else value >= self.value)


@dataclass(frozen=True)
class Figure:
    """One measured number and the bar that it is held to.

    bar: None for a number that is reported and held to nothing.
    value: None when the figure was skipped; `skipped` then says why.
    parts: whatever the value was made of, for those who want to look closer; plain JSON.
    """

    name: str
    bar: Bar | None
    value: float | None
    unit: str = ""
    parts: Mapping[str, Any] = field(default_factory=dict)
    skipped: str | None = None

    def __post_init__(self) -> None:
        if (self.value is None) != (self.skipped is not None):
            raise ValueError(f"figure '{self.name}': either a value or the reason why it was skipped")

    @property
    def holds(self) -> bool | None:
        """Whether the bar was cleared; None when there is no bar or the figure was skipped."""
        return None if self.value is None or self.bar is None else self.bar.holds(self.value)

    def to_json(self) -> dict[str, Any]:
        """The figure as one entry of a report."""
        return {
            # JSON has no NaN or infinity; what could not be computed has no value and does not hold.
            "value": float(self.value) if self.value is not None and math.isfinite(self.value) else None,
            "unit": self.unit,
            "comparison": self.bar.comparison if self.bar else None,
            "bar": self.bar.value if self.bar else None,
            "holds": self.holds,
            "parts": dict(self.parts),
        } | ({"skipped": self.skipped} if self.skipped else {})


@dataclass(frozen=True)
class Report:
    """All figures of one run of a bench, and the machine that they hold for."""

    bench: str
    machine: Mapping[str, Any]
    figures: tuple[Figure, ...]

    @property
    def exit_code(self) -> int:
        """0 when all bars that were tried hold, 1 when one does not, 2 when nothing could be measured."""
        if all(figure.value is None for figure in self.figures):
            return 2
        return 1 if any(figure.holds is False for figure in self.figures) else 0

    def to_json(self) -> dict[str, Any]:
        """The report as every bench writes it."""
        return {
            "bench": self.bench,
            "machine": dict(self.machine),
            "figures": {figure.name: figure.to_json() for figure in self.figures},
        }


def missing(*modules: str) -> str | None:
    """Why a figure that needs these optional modules must be skipped; None when all are installed."""
    absent = [name for name in modules if importlib.util.find_spec(name) is None]
    return f"needs {', '.join(absent)} (make bench-env)" if absent else None


def describe_machine() -> dict[str, Any]:
    """The machine and the software that a report holds for."""
    versions = {}
    for package in ("numpy", "numba", "onnxruntime", "scikit-learn", "torch"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "cpu": processor_name(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "anyscene": anyscene.__version__,
        "packages": versions,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
