"""Requests that wait for a worker: who comes next, who still fits, and how much time each can be given."""

from __future__ import annotations

import asyncio
import bisect
import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from anyscene.server.asks import Picture, Wish


@dataclass(eq=False)
class Job:
    """A request on its way.

    arrived : when the whole request was there, by `time.perf_counter()` as all moments here.
    deadline : when the last byte must be handed over; infinity if nobody set one.
    due : the deadline, or until when a request without one may wait.
    least_ms : what it takes from a free worker to the last byte if it gets first labels only.
    look_ms : the same with the smallest look of a network; `least_ms` if it has no time for one, or no need.
    session : names the live state that a frame belongs to. worker : the only one that may serve it.
    is_gone : tells whether the client has left.
    """

    wish: Wish
    picture: Picture
    arrived: float
    deadline: float
    due: float
    least_ms: float
    look_ms: float
    answer: asyncio.Future[Any]
    is_gone: Callable[[], bool]
    session: str | None = None
    worker: int | None = None
    timer: asyncio.TimerHandle | None = field(default=None, repr=False)

    @property
    def rank(self) -> tuple[int, float]:
        """By this they are served: priority, then the earliest deadline."""
        return self.wish.priority, self.due

    @property
    def latest_start(self) -> float:
        """After this no worker can answer it in time."""
        return self.due - self.least_ms / 1e3


class Waiting:
    """The requests that wait, in the order in which they are served."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.bytes = 0

    def __len__(self) -> int:
        return len(self.jobs)

    def add(self, job: Job) -> None:
        """Take in a request."""
        bisect.insort(self.jobs, job, key=lambda one: one.rank)
        self.bytes += len(job.picture.data)

    def remove(self, job: Job) -> bool:
        """Take out a request; tell whether it was there."""
        if job not in self.jobs:
            return False
        self.jobs.remove(job)
        self.bytes -= len(job.picture.data)
        return True

    def next_for(self, worker: int) -> Job | None:
        """The request that a free worker should serve; it stays here until it is removed."""
        return next((job for job in self.jobs if job.worker in (None, worker)), None)

    def broken_by(self, newcomers: Iterable[Job], free_at: Sequence[float]) -> list[Job]:
        """The requests that would lose their look if these came in, and those of these that would get none.

        free_at : when each worker can take its next request.
        """
        lost = without_look(self.jobs, free_at)
        together = sorted([*self.jobs, *newcomers], key=lambda one: one.rank)
        return [job for job in without_look(together, free_at) if job not in lost]

    def share_ms(self, now: float, workers: int) -> float:
        """The time that each request can have of a worker if all that wait have the same."""
        shares = (
            (job.due - now) * workers / (place + 1) for place, job in enumerate(self.jobs) if job.due > now
        )
        return 1e3 * min(shares, default=math.inf)


def without_look(ordered: Sequence[Job], free_at: Sequence[float]) -> list[Job]:
    """Serve requests one after the other with what each has to get; return those that get too little."""
    free = [(moment, worker) for worker, moment in enumerate(free_at)]
    heapq.heapify(free)
    lost = []
    for job in ordered:
        moment, worker = free[0]
        takes_ms = job.look_ms
        if moment + takes_ms / 1e3 > job.due:
            lost.append(job)
            takes_ms = job.least_ms if moment <= job.latest_start else 0.0
        heapq.heapreplace(free, (moment + takes_ms / 1e3, worker))
    return lost
