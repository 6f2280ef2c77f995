"""`bench streams_soak`: 30 000 frames of mixed sizes, with pauses, cuts, gaps and a worker that dies."""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from anyscene.data import open as open_data
from anyscene.engine.clock import Clock
from anyscene.errors import StreamError
from anyscene.streams.engine import StreamingEngine, load
from anyscene.streams.live import make_stream
from anyscene.streams.looks import Looks, looks_of
from anyscene.streams.stream import Stream
from anyscene.streams.workers import ThreadWorker
from benchmarks.figures import Bar, Figure, Request

FRAMES = 30_000
BUDGET_MS = 5.0
RESTED_MS = 10.0
"""Between frames: 100 a second, so that the worker falls behind now and then."""

SIZES = ((360, 480), (180, 240), (270, 480), (90, 120))
OTHER_SIZE, CUT, PAUSE = 0.005, 0.02, 0.0002
"""How often each comes, a frame."""

DEATH_EVERY = 4_000
"""Looks between frames after which the worker's thread ends as if it were killed."""

ROUND = 1_000
"""Frames after which memory is noted."""


def run(request: Request) -> Iterator[Figure]:
    """Stream `request.data` (CamVid's val) for long, as fast as a camera of 100 frames a second."""
    if request.data is None:
        yield Figure("streams_soak", None, None, skipped="needs --data camvid:PATH")
        return
    scenes = open_data(request.data).split(request.split or "val")
    images = [scenes.image(index) for index in range(min(40, len(scenes)))]
    engine = load(request.model or "camvid")
    deaths: list[int] = []
    stream = make_stream(engine, ThreadWorker(), 1.0, looks=mortal(looks_of(engine), deaths))
    overlapped(engine, images[0])
    late, told, resident = soaked(stream, islice(mixed_frames(images), FRAMES))
    third = len(late) // 3
    first, last = float(np.mean(late[:third])), float(np.mean(late[-third:]))
    parts = {
        "resident MB": resident,
        "late first third": first,
        "late last third": last,
        **vars(stream.spent),
    }
    name = f"{FRAMES} mixed frames"
    grown = float(np.median(resident[-5:]) - np.median(resident[len(resident) // 3 :][:5]))
    yield Figure(f"{name}: memory grown after the first third", Bar("at most", 5.0), grown, "MB", parts)
    yield Figure(f"{name}: late calls, last third less first", Bar("at most", 0.01), last - first)
    yield Figure(f"{name}: errors but one for each death", Bar("at most", 0), abs(told - len(deaths)))
    yield Figure(f"{name}: deaths of the worker", Bar("at least", 1), len(deaths))


def mixed_frames(images: list[NDArray[np.uint8]]) -> Iterator[NDArray[np.uint8]]:
    """Frames without end: a drive with cuts and gaps, in changing sizes, with pauses."""
    random = np.random.default_rng(0)
    size, at = SIZES[0], 0
    while True:
        if random.random() < OTHER_SIZE:
            size = SIZES[int(random.integers(len(SIZES)))]
        if random.random() < CUT:
            at = int(random.integers(len(images)))
        time.sleep(1.1 if random.random() < PAUSE else RESTED_MS / 1e3)
        at = (at + 1) % len(images)
        yield images[at][: size[0], : size[1]]


def soaked(stream: Stream, frames: Iterator[NDArray[np.uint8]]) -> tuple[list[bool], int, list[float]]:
    """Whether each call was late, how many errors were raised, and resident memory in MB as time passes."""
    late: list[bool] = []
    resident: list[float] = []
    told = 0
    for turn, frame in enumerate(frames, 1):
        clock = Clock(BUDGET_MS)
        try:
            late.append(stream.label(frame, clock.begun * 1e3, clock).deadline_met is False)
        except StreamError:
            told += 1
        if turn % ROUND == 0:
            resident.append(resident_mb())
    stream.close()
    return late, told, resident


def overlapped(engine: StreamingEngine, frame: NDArray[np.uint8]) -> None:
    """Take two finest looks at once: memory for that is kept, and a stream may need it at any time."""
    looks = looks_of(engine)
    threads = [
        threading.Thread(target=looks.scores, args=(frame, len(looks) - 1))
        for _ in range(2)
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def mortal(looks: Looks, deaths: list[int]) -> Looks:
    """Looks that now and then end the thread which looks, unless that is the main one."""
    taken = 0

    def run(frame: NDArray[np.uint8], look: int, deadline: float | None) -> NDArray[np.float32]:
        nonlocal taken
        if threading.current_thread() is not threading.main_thread():
            taken += 1
            if taken % DEATH_EVERY == 0:
                deaths.append(taken)
                raise SystemExit
        return looks.run(frame, look, deadline)

    return replace(looks, run=run)


def resident_mb() -> float:
    """Memory that this process holds now; where the system does not tell, the most that it ever held."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
