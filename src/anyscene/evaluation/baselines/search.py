"""Choosing a model's few parameters by trying values, one parameter at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Parameters = TypeVar("Parameters")

LEAST_SURE = 2.0
"""Gains below this many standard errors count as chance."""


def surest_gain(
    start: Parameters,
    grid: Mapping[str, Sequence[float]],
    accuracies: Callable[[Parameters], NDArray[np.float64]],
) -> Parameters:
    """The parameters that beat the start most surely on some images; the start itself if none surely does.

    accuracies : gives the accuracy of each image, float64[n].
    The mean gain over its standard error counts, not the gain itself: images that are labeled badly to begin
    with (a drive unlike those learned from) gain most, and by settings that harm all others.
    """
    plain = accuracies(start)

    def sureness(parameters: Parameters) -> float:
        if parameters == start:
            return LEAST_SURE
        gain = accuracies(parameters) - plain
        error = float(gain.std()) / len(gain) ** 0.5
        return float(gain.mean()) / error if error > 0 else 0.0

    return coordinate_search(start, grid, sureness)


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
