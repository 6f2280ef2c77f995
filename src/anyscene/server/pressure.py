"""How long each request may keep a worker so that all that is likely to come fits."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

SLOT_SECONDS = 1.0
"""The latest one to two of these are looked at."""

FILLED = 0.8
"""The part of the workers' time that is given away: arrivals come in clusters."""

LEAST_BUSY_SECONDS = 0.1
"""Less is too little to tell how often requests come."""


class Pressure:
    """The arrivals of late, as far as they found all workers busy: others do not depend on our pace."""

    def __init__(self, workers: int, now: Callable[[], float] = time.perf_counter) -> None:
        self._workers = workers
        self._now = now
        self._arrivals = [0, 0]  # of the current slot and of the one before it
        self._busy = [0.0, 0.0]
        self._slot_begun = self._noted = now()
        self._all_busy = False

    def set_busy(self, all_busy: bool) -> None:
        """All workers are busy from now on, or not any more."""
        self._pass_time()
        self._all_busy = all_busy

    def note_arrival(self) -> None:
        """A request came."""
        self._pass_time()
        self._arrivals[0] += self._all_busy

    def _pass_time(self) -> None:
        now = self._now()
        if self._all_busy:
            self._busy[0] += now - self._noted
        self._noted = now
        if now - self._slot_begun > SLOT_SECONDS:
            is_old = now - self._slot_begun > 2 * SLOT_SECONDS
            self._arrivals = [0, 0 if is_old else self._arrivals[0]]
            self._busy = [0.0, 0.0 if is_old else self._busy[0]]
            self._slot_begun = now

    def longest_ms(self) -> float:
        """How long a request may keep a worker; infinity if nobody else came of late."""
        self._pass_time()
        arrivals = sum(self._arrivals)
        busy_ms = 1e3 * max(sum(self._busy), LEAST_BUSY_SECONDS)
        return FILLED * self._workers * busy_ms / arrivals if arrivals else math.inf
