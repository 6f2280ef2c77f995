"""As many calls at once as there are cores: more would slow each other down, and all would be late."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, Semaphore

from anyscene.engine.run import Run
from anyscene.forking import renew_after_fork


class Admission:
    """Limits how many runs of an engine work at once. Runs that wait keep their deadlines.

    A run that gets a place leaves a share of its time to those that wait, so that they can work too. A run
    that gets none in time shows what it has.

    places : how many runs may work at once.
    """

    def __init__(self, places: int) -> None:
        self._places = places
        self._renew()
        renew_after_fork(self)

    def _renew(self) -> None:
        self._lock = Lock()
        self._free = Semaphore(self._places)
        self._waiting = 0

    @contextmanager
    def admitted(self, run: Run) -> Iterator[None]:
        """Wait for a place, and hold it while the block advances the run."""
        free = self._free
        has_place = free.acquire(blocking=False) or self._wait(run)
        try:
            if not has_place:
                run.leave_to_others(1.0)
            elif self._waiting:
                run.leave_to_others(1 - 1 / (1 + self._waiting / self._places))
            yield
        finally:
            if has_place:
                free.release()

    def _wait(self, run: Run) -> bool:
        """Wait until there is a place, or until the run must show what it has; tell whether there is one."""
        with self._lock:
            self._waiting += 1
        try:
            patience = None if not run.clock.has_deadline else max(0.0, run.spare_ms / 1e3)
            return self._free.acquire(timeout=patience)
        finally:
            with self._lock:
                self._waiting -= 1


def usable_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
