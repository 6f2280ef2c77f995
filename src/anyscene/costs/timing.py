"""The CPU time of a call."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median


def milliseconds(call: Callable[[], object], rounds: int) -> float:
    """Median CPU time of a call; the first, which may compile, does not count."""
    call()
    times = []
    for _ in range(rounds):
        begun = time.thread_time()
        call()
        times.append(time.thread_time() - begun)
    return median(times) * 1e3
