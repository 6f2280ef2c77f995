"""Budgets dealt from what is left: of a job's time, and of the CPU time that it may take."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from anyscene.cluster.allowance import FEWEST_MS, Allowance
from anyscene.cluster.todo import Chunk


@dataclass(frozen=True)
class Caps:
    """What a job may take; None where there is no limit.

    each_ms : the time for an image. total_ms : the time of the whole job. mean_cpu_ms : CPU time an image, on
    average. cpu_ms : CPU time of the whole job, getting ready included.
    """

    each_ms: float | None = None
    total_ms: float | None = None
    mean_cpu_ms: float | None = None
    cpu_ms: float | None = None


class Deal(NamedTuple):
    """What a worker is told about a chunk.

    budget_ms : for each image; None: no limit. is_over : nothing is left, the job ends here.
    attempt : how often workers have begun with this chunk, this time included.
    """

    budget_ms: float | None = None
    is_over: bool = False
    attempt: int = 1


class Took(NamedTuple):
    """What a worker tells about a chunk. cpu_ms : all of its CPU time since it last told.

    own_cpu_ms : of that, for these images. labeling_ms : of that, for labeling alone.
    """

    images: int
    cpu_ms: float
    own_cpu_ms: float
    labeling_ms: float


class Dealer:
    """Deals out chunks and keeps the accounts of a job.

    images : how many are to be labelled. side_by_side : how many workers there are. spent_ms : the CPU time
    of earlier runs of the same job.
    """

    def __init__(
        self,
        caps: Caps,
        images: int,
        side_by_side: int,
        spent_ms: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._each_ms = caps.each_ms
        self._before_ms = self.spent_ms = spent_ms
        self._spent_on_images = 0.0
        self._reserved: dict[Chunk, float] = {}
        self._attempts: dict[Chunk, int] = {}
        self._suspects: dict[bytes, int] = {}
        self._allowances: list[tuple[Allowance, bool]] = []
        if caps.total_ms is not None:
            self._allowances.append((Allowance(caps.total_ms, images, side_by_side, clock), True))
        if caps.cpu_ms is not None:
            left = caps.cpu_ms - spent_ms
            self._allowances.append((Allowance(left, images, 1, self._seconds), True))
        if caps.mean_cpu_ms is not None:
            mean = Allowance(caps.mean_cpu_ms * images, images, 1, self._seconds_on_images)
            self._allowances.append((mean, False))

    def _seconds(self) -> float:
        return (self.spent_ms - self._before_ms + sum(self._reserved.values())) / 1e3

    def _seconds_on_images(self) -> float:
        return (self._spent_on_images + sum(self._reserved.values())) / 1e3

    def deal(self, chunk: Chunk) -> Deal:
        """Say what the images of a chunk may take."""
        self._attempts[chunk] = attempt = self._attempts.get(chunk, 0) + 1
        shares = [] if self._each_ms is None else [self._each_ms]
        for allowance, ends in self._allowances:
            share = allowance.next_ms(0 if attempt > 1 else chunk.size)
            if share is None and ends:
                return Deal(is_over=True)
            shares.append(FEWEST_MS if share is None else share)
        budget_ms = min(shares, default=None)
        if budget_ms is not None:
            around_ms = max((one.around_ms for one, _ in self._allowances), default=0.0)
            self._reserved[chunk] = (budget_ms + around_ms) * chunk.size
        return Deal(budget_ms, attempt=attempt)

    def took(self, chunk: Chunk, took: Took) -> None:
        """Learn what a chunk took."""
        self._reserved.pop(chunk, None)
        self._attempts.pop(chunk, None)
        self.spend(took.cpu_ms)
        self._spent_on_images += took.own_cpu_ms
        for allowance, _ in self._allowances:
            allowance.took(took.own_cpu_ms, took.labeling_ms, took.images)

    def spend(self, cpu_ms: float) -> None:
        """Count CPU time that no image has taken."""
        self.spent_ms += cpu_ms

    def seen(self, images: int, own_cpu_ms: float, cpu_ms: float) -> None:
        """Learn what the whole run has taken so far, by the rows that have come back.

        A dealer that is set up again in mid-run has forgotten what it was told; this makes up for it.
        own_cpu_ms : for these images. cpu_ms : that, and what else is known of.
        """
        self.spent_ms = max(self.spent_ms, self._before_ms + cpu_ms)
        self._spent_on_images = max(self._spent_on_images, own_cpu_ms)
        for allowance, _ in self._allowances:
            allowance.seen(images)

    def suspect(self, image: bytes) -> int:
        """Note that a worker begins with an image on which others may have died; tell how often by now."""
        self._suspects[image] = self._suspects.get(image, 0) + 1
        return self._suspects[image]
