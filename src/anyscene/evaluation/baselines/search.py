"""Choosing a model's few parameters by trying values, one parameter at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

Parameters = TypeVar("Parameters")


def coordinate_search(
    start: Parameters,
    grid: Mapping[str, Sequence[float]],
    score: Callable[[Parameters], float],
    rounds: int = 2,
) -> Parameters:
    """The parameters (a frozen dataclass) of the highest score that moving along one axis at a time finds.

    Fields are tried in the grid's order, all their values in turn; the start wins ties. Ends early when a
    round changes nothing. Each setting is scored once.
    """
    best = start
    scores = {start: score(start)}
    for _ in range(rounds):
        before = best
        for name, values in grid.items():
            for value in values:
                candidate = replace(best, **{name: value})  # type: ignore[type-var]
                if candidate not in scores:
                    scores[candidate] = score(candidate)
                if scores[candidate] > scores[best]:
                    best = candidate
        if best == before:
            break
    return best
