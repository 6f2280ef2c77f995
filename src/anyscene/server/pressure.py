"""How long one request may keep a worker while others are likely to come.

A worker cannot be interrupted, so that a request which comes while all of them are busy waits until one is
free. If its budget is short, it is lost by then. So what a request gets is bounded by what the latest
arrivals foretell: few of those to come may be lost, and all must fit into the time of the workers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

SLOT_SECONDS = 1.0
"""The latest one to two of these are looked at."""

LOST = 0.03
"""Of the requests to come, so many may be lost to each that is worked on."""

FILLED = 0.9
"""The part of the workers' time that is given away: arrivals come in clusters."""

LEAST_BUSY_SECONDS = 0.1
"""Less is too little to tell how often requests come."""


class Pressure:
    """The arrivals of late, as far as they found all workers busy: others do not depend on our pace."""

    def __init__(self, workers: int, now: Callable[[], float] = time.perf_counter) -> None:
        self._workers = workers
        self._now = now
        self._slacks: list[list[float]] = [[], []]  # of the current slot and of the one before it
        self._busy = [0.0, 0.0]
        self._slot_begun = self._noted = now()
        self._all_busy = False

    def set_busy(self, all_busy: bool) -> None:
        """All workers are busy from now on, or not any more."""
        self._pass_time()
        self._all_busy = all_busy

    def note_arrival(self, slack_ms: float) -> None:
        """A request came. slack_ms : how long it could have waited."""
        self._pass_time()
        if self._all_busy:
            self._slacks[0].append(slack_ms)

    def _pass_time(self) -> None:
        now = self._now()
        if self._all_busy:
            self._busy[0] += now - self._noted
        self._noted = now
        if now - self._slot_begun > SLOT_SECONDS:
            is_old = now - self._slot_begun > 2 * SLOT_SECONDS
            self._slacks = [[], [] if is_old else self._slacks[0]]
            self._busy = [0.0, 0.0 if is_old else self._busy[0]]
            self._slot_begun = now

    def longest_ms(self) -> float:
        """How long a request may keep a worker; infinity if nobody else came of late."""
        self._pass_time()
        slacks = sorted(self._slacks[0] + self._slacks[1])
        if not slacks:
            return math.inf
        busy = max(sum(self._busy), LEAST_BUSY_SECONDS)
        rate = 1e-3 * len(slacks) / busy  # arrivals a millisecond
        return min(FILLED * self._workers / rate, self._workers * _longest_wait(slacks, 1e-3 / busy))


def _longest_wait(slacks: list[float], rate: float) -> float:
    """The wait x for which the sum of rate * max(0, x - slack) is LOST; slacks in ascending order."""
    total = 0.0
    for count, slack in enumerate(slacks, 1):
        total += slack
        wait = (LOST / rate + total) / count
        if count == len(slacks) or wait <= slacks[count]:
            return wait
    return math.inf
