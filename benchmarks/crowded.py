"""The bench `crowded`: are deadlines held when more threads than cores share one engine?"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from anyscene.engine import Engine, load
from benchmarks.deadline import is_late, scenes_of
from benchmarks.figures import Bar, Figure, Request

BUDGETS = (2, 5, 10, 20, 50, 100, 200)
HELD_FROM = 20
"""Budgets from here on are held to the bar; shorter ones are reported."""

CROWD = 4
"""So many threads a core."""

SECONDS = 5.0
"""So long all threads call at each budget."""

IMAGES = 40

Image = NDArray[np.uint8]


def run(request: Request) -> Iterator[Figure]:
    """Measure on the scenes of `request.data` (generated streets without it) with `request.model`."""
    scenes = scenes_of(request)
    images = [scenes.image(index % len(scenes)) for index in range(IMAGES)]
    model = request.model or "camvid"
    bar = Bar("at most", 0.05)
    everywhere = os.sched_getaffinity(0)
    with _on_cores({min(everywhere)}):
        engine = load(model)
        yield _late_calls("late calls of 4 threads on one core", engine, images, CROWD, bar)
        yield _late_calls("late calls of 16 threads on one core", engine, images, 16, None)
    threads = CROWD * len(everywhere)
    name = f"late calls of {threads} threads on {len(everywhere)} cores"
    yield _late_calls(name, load(model), images, threads, bar)


@contextmanager
def _on_cores(cores: set[int]) -> Iterator[None]:
    """Hold this process, and the threads that it starts, to some cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _late_calls(name: str, engine: Engine, images: Sequence[Image], threads: int, bar: Bar | None) -> Figure:
    """The largest share of late calls at any budget that is held to the bar."""
    late, calls, steps = {}, {}, {}
    for budget in BUDGETS:
        found = crowd(engine, images, threads, budget)
        late[budget] = float(np.mean([is_late(ms, budget) for ms, _ in found]))
        calls[f"{budget} ms"] = len(found)
        steps[f"{budget} ms"] = float(np.mean([taken for _, taken in found]))
    parts = {
        "share late": {f"{budget} ms": share for budget, share in late.items()},
        "calls": calls,
        "actions of a call, on average": steps,
    }
    return Figure(name, bar, max(share for budget, share in late.items() if budget >= HELD_FROM), parts=parts)


def crowd(
    engine: Engine, images: Sequence[Image], threads: int, budget: float, seconds: float = SECONDS
) -> list[tuple[float, int]]:
    """Call from all threads at once, again and again; milliseconds as callers see them, and actions taken."""
    ends = time.monotonic() + seconds

    def calls(first: int) -> list[tuple[float, int]]:
        own, number = [], first
        while time.monotonic() < ends:
            begun = time.perf_counter()
            taken = len(engine.label(images[number % len(images)], budget).trace)
            own.append((1e3 * (time.perf_counter() - begun), taken))
            number += 1
        return own

    with ThreadPoolExecutor(threads) as pool:
        return [call for own in pool.map(calls, range(threads)) for call in own]
