"""Accuracies of several systems on the same images as curves over cost, and as bootstrap draws of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.evaluation.scores import first_cost, step_values
from anyscene.evaluation.traces import Trace

Floats = NDArray[np.float64]

POINTS = 512
"""Budgets that curves are compared at: over three decades of cost, each is 1.4 % above the last."""

BLOCK = 20
"""Most neighbouring images that are drawn together: frames of a video are not independent."""

FEWEST_BLOCKS = 5
"""Fewer images are divided into so many blocks, or an interval would say nothing."""

ROUNDS = 1000
"""Draws of the bootstrap."""


@dataclass(frozen=True, eq=False)
class Runs:
    """What systems had right on the same n images, as claims are measured on them.

    budgets : float64[B] milliseconds, even in log cost, from the first action to the largest cost of any.
    until : the largest cost of D-NM and S-M; curves are compared up to there.
    known : float64[n], pixels of known truth.
    right : by system float64[n, B], pixels that are right within each budget; nan before there is a label.
    cost : by system float64[n], milliseconds to its end.
    """

    budgets: Floats
    until: float
    known: Floats
    right: Mapping[str, Floats]
    cost: Mapping[str, Floats]


@dataclass(frozen=True, eq=False)
class Curves:
    """The same pooled over images. accuracy : by system float64[B]. cost : by system, the mean."""

    budgets: Floats
    until: float
    accuracy: Mapping[str, Floats]
    cost: Mapping[str, float]

    def end(self, system: str) -> float:
        """The accuracy of a system that goes all the way."""
        return float(self.accuracy[system][-1])

    def at(self, system: str, budget: float) -> float:
        """The accuracy of a system within a budget; nan before its first label."""
        return float(step_values(self.budgets, self.accuracy[system], np.array([budget]))[0])

    def cost_of(self, system: str, accuracy: float) -> float:
        """The lowest cost at which a system has an accuracy; infinite if it never does."""
        found = first_cost(self.budgets, self.accuracy[system], accuracy)
        return np.inf if found is None else found

    def compared(self, system: str) -> Floats:
        """The accuracies of a system where curves are compared."""
        return self.accuracy[system][self.budgets <= self.until]


def runs_of(traces: Mapping[str, Sequence[Trace]]) -> Runs:
    """Traces of the same images by system; D-NM and S-M must be among them."""
    both = [*traces["D-NM"], *traces["S-M"]]
    first = min((trace.cost[1] for trace in both if len(trace.cost) > 1), default=both[0].cost[0])
    until = max(float(trace.cost[-1]) for trace in both)
    last = max(float(trace.cost[-1]) for own in traces.values() for trace in own)
    budgets = np.geomspace(first, max(last, 1.001 * first), POINTS)
    # Rounding must not cut off the very end.
    budgets[-1] = max(last, budgets[-1])
    known = np.array([trace.counts[0].sum() for trace in traces["D-NM"]], np.float64)
    return Runs(
        budgets,
        until,
        known,
        {name: np.array([_right(trace, budgets) for trace in own]) for name, own in traces.items()},
        {name: np.array([trace.cost[-1] for trace in own]) for name, own in traces.items()},
    )


def _right(trace: Trace, budgets: Floats) -> Floats:
    right = np.trace(trace.counts, axis1=1, axis2=2).astype(np.float64)
    anytime = len(trace.grown) > 0
    known_by = np.where(anytime | (budgets >= trace.cost[0] * (1 - 1e-9)), 1.0, np.nan)
    return np.asarray(known_by * right[trace.last_within(budgets * (1 + 1e-9))])


def drawn_images(images: int, rounds: int, random: np.random.Generator) -> Floats:
    """How often each image is drawn, float64[rounds, n]: whole blocks of neighbours at a time."""
    size = max(1, min(BLOCK, images // FEWEST_BLOCKS))
    block = np.arange(images) // size
    blocks = int(block[-1]) + 1
    times = random.multinomial(blocks, np.full(blocks, 1 / blocks), rounds)
    return times[:, block].astype(np.float64)


def pooled(runs: Runs, times: Floats) -> Iterator[Curves]:
    """Curves over images that are drawn so many times each, float64[rounds, n]."""
    known = times @ runs.known
    accuracy = {name: times @ right / known[:, None] for name, right in runs.right.items()}
    cost = {name: times @ own / times.sum(axis=1) for name, own in runs.cost.items()}
    for index in range(len(times)):
        yield Curves(
            runs.budgets,
            runs.until,
            {name: own[index] for name, own in accuracy.items()},
            {name: float(own[index]) for name, own in cost.items()},
        )
