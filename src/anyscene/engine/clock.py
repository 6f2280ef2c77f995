"""Budgets, and the one clock that they are held to."""

from __future__ import annotations

import math
import re
import time
import warnings
from dataclasses import dataclass, field
from functools import lru_cache

from anyscene.errors import ConfigError

Budget = str | float | None
"""How long labeling may take: "20ms", "1.5s", a number of milliseconds, or None for as long as it pays."""

_UNITS_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "min": 60e3}
_WRITTEN = re.compile(r"\s*([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)\s*([a-zµ]*)\s*", re.IGNORECASE)


def parse_budget(budget: Budget) -> float:
    """Read a budget as milliseconds; infinity for None."""
    if budget is None:
        return math.inf
    if isinstance(budget, str):
        return _parse_text(budget)
    if isinstance(budget, bool) or not isinstance(budget, int | float) or not budget >= 0:
        raise ConfigError(
            f"a budget is a text such as '20ms' or '1.5s', a number of milliseconds from 0 on, "
            f"or None for no limit; found {budget!r}"
        )
    if 0 < budget < 1:
        warnings.warn(
            f"a budget of {budget} is {budget} milliseconds; for seconds write '{budget}s'", stacklevel=3
        )
    return float(budget)


@lru_cache(maxsize=64)
def _parse_text(text: str) -> float:
    match = _WRITTEN.fullmatch(text)
    unit = match[2].lower().replace("µ", "u") if match else ""
    if match is None or unit not in _UNITS_MS:
        raise ConfigError(
            f"'{text}' is not a budget; write a number and its unit, such as 20ms or 1.5s "
            f"(units: {', '.join(_UNITS_MS)})"
        )
    return float(match[1]) * _UNITS_MS[unit]


@dataclass(frozen=True)
class Clock:
    """The time of one call, in milliseconds since it began.

    budget : infinity where there is none. left_to_others : the part of it that is left to calls that wait.
    aim : what the call should typically take, if that is less: what takes longer than usual goes on.
    """

    budget: float = math.inf
    begun: float = field(default_factory=time.perf_counter)
    left_to_others: float = 0.0
    aim: float = math.inf

    def elapsed(self) -> float:
        """Milliseconds since the call began."""
        return (time.perf_counter() - self.begun) * 1e3

    def remaining(self) -> float:
        """Milliseconds that this call may still use; negative after the deadline."""
        return self.budget - self.left_to_others - self.elapsed()

    @property
    def has_deadline(self) -> bool:
        """Whether the budget ends."""
        return math.isfinite(self.budget)

    @property
    def ends_at(self) -> float:
        """When this call has used its time, by `time.perf_counter()`."""
        return self.begun + (self.budget - self.left_to_others) / 1e3
