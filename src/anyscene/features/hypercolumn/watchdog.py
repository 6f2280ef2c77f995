"""Ending a network's run when its time is up."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition, Thread
from typing import Any

from anyscene.forking import renew_after_fork

LONGEST_SLEEP = 3600.0
"""Seconds that the thread sleeps at most: some platforms refuse to wait much longer."""


class Ended(Exception):
    """A run was ended before it was done."""


class OutOfTime(Ended):
    """It was ended at its deadline. Whoever set the deadline catches it."""


class GivenUp(Ended):
    """It was given up together with all that it is for."""


@dataclass(eq=False)
class _Watched:
    deadline: float
    options: Any
    raises: type[Ended] = OutOfTime


class Watchdog:
    """Ends runs of ONNX Runtime, between two nodes of the graph, at a deadline.

    One thread watches all runs: to start one for each would take longer than a short budget. It starts with
    the first run that has a deadline.
    """

    def __init__(self) -> None:
        self._renew()
        renew_after_fork(self)

    def _renew(self) -> None:
        self._changed = Condition()
        self._watched: list[_Watched] = []
        self._thread: Thread | None = None
        self._wakes_at = math.inf

    @contextmanager
    def watching(self, deadline: float) -> Iterator[Any]:
        """Give the block run options that are told to terminate when `time.perf_counter()` is `deadline`."""
        import onnxruntime

        run = _Watched(deadline, onnxruntime.RunOptions())
        with self._changed:
            if self._thread is None:
                self._thread = Thread(target=self._watch, name="anyscene watchdog", daemon=True)
                self._thread.start()
            self._watched.append(run)
            if deadline < self._wakes_at:  # waking the thread takes a good part of a short run
                self._changed.notify()
        try:
            yield run.options
        except Exception as error:  # ONNX Runtime's own, of a class that it does not name publicly
            if run.options.terminate:
                raise run.raises from error
            raise
        finally:
            with self._changed:
                self._watched.remove(run)

    def end_all(self, raises: type[Ended]) -> None:
        """End all runs that are under way, whatever their deadlines are."""
        with self._changed:
            for run in self._watched:
                run.raises = raises
                run.options.terminate = True

    def _watch(self) -> None:
        with self._changed:
            while True:
                now = time.perf_counter()
                for run in self._watched:
                    if run.deadline <= now:
                        run.options.terminate = True
                self._wakes_at = min(
                    (run.deadline for run in self._watched if run.deadline > now), default=math.inf
                )
                self._changed.wait(min(self._wakes_at - now, LONGEST_SLEEP))
