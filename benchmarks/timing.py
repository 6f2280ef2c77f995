"""Timing rivals fairly: interleaved in one process, several rounds, one thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

from anyscene.threads import one_thread


@dataclass(frozen=True)
class Timings:
    """Seconds of each candidate in each round; the n-th times of two candidates were taken side by side."""

    seconds: Mapping[str, tuple[float, ...]]

    def median(self, name: str) -> float:
        """The median time of one candidate, in seconds."""
        return median(self.seconds[name])

    def speedup(self, name: str, rival: str) -> float:
        """How many times as fast as its rival a candidate is.

        The median of the rounds' ratios, which another process that comes and goes disturbs less than it
        would a ratio of medians.
        """
        return median(slow / fast for slow, fast in zip(self.seconds[rival], self.seconds[name], strict=True))

    def medians(self) -> dict[str, float]:
        """The median time of each candidate, in seconds."""
        return {name: self.median(name) for name in self.seconds}


def interleave(candidates: Mapping[str, Callable[[], object]], rounds: int) -> Timings:
    """Time each candidate once a round, after one call each that does not count; on one thread.

    Every round starts with another candidate, so that none always finds the caches as its rival left them.
    """
    names = list(candidates)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    with one_thread():
        for call in candidates.values():
            call()
        for turn in range(rounds):
            start = turn % len(names)
            for name in names[start:] + names[:start]:
                begun = time.perf_counter()
                candidates[name]()
                seconds[name].append(time.perf_counter() - begun)
    return Timings({name: tuple(times) for name, times in seconds.items()})
