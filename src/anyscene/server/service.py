"""Between requests and workers: who is taken, who is refused, when each is served and for how long."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from anyscene.errors import AnysceneError
from anyscene.server.asks import Picture, Refusal, Wish
from anyscene.server.config import Settings
from anyscene.server.estimates import Running, high_of_sum
from anyscene.server.held import Held
from anyscene.server.links import Link
from anyscene.server.metrics import Metrics
from anyscene.server.pressure import Pressure
from anyscene.server.waiting import Job, Waiting

RESTART_SECONDS = 10.0
"""About how long a new worker takes to be ready; clients are told to come back after it."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
"""Before a worker that ended is replaced; doubled as long as the new ones end, too. In seconds."""


@dataclass(frozen=True)
class Answer:
    """Labels as bytes. head : what the worker tells of them. sent : when it did."""

    job: Job
    body: bytes
    head: dict[str, Any]
    queue_ms: float

    @property
    def stages(self) -> dict[str, float]:
        """Milliseconds by stage, in order."""
        return {"queue": self.queue_ms, **self.head["stages"]}


class Service:
    """All that the routes share: the workers, the queue, the counters."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.waiting = Waiting()
        self.links: list[Link] = []
        self.models: dict[str, Any] = {}
        self.is_stopping = False
        self.held = Held(settings.limits.queue_bytes, self.metrics.queue_bytes)
        self.returning = Running(0.5)  # milliseconds from a worker's reply to the last byte handed over
        self._pressure = Pressure(settings.workers)
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Start all workers: the first alone, because it may measure the machine, then the others."""
        self.links = [self._new_link() for _ in range(self.settings.workers)]
        await self.links[0].start()
        self.models = self.links[0].models
        await asyncio.gather(*(link.start() for link in self.links[1:]))
        self._count_workers()

    async def stop(self) -> None:
        """Refuse what waits, and end the workers when they have finished what they are busy with."""
        self.is_stopping = True
        for task in self._tasks:
            task.cancel()
        for job in list(self.waiting.jobs):
            self._refuse(job, _stopping())
        await asyncio.gather(*(link.stop() for link in self.links))

    def _new_link(self) -> Link:
        return Link(self.settings, self._on_reply, self._on_lost)

    @property
    def ready_links(self) -> list[Link]:
        """The workers that can serve."""
        return [link for link in self.links if link.is_ready]

    def _count_workers(self) -> None:
        self.metrics.workers.set(len(self.ready_links))

    def _on_lost(self, link: Link) -> None:
        self._count_workers()
        if link.job is not None:
            job, link.job = link.job, None
            self._refuse(job, Refusal(503, "worker lost", "the worker on this request ended; try again", 1))
        if not self.ready_links:
            for job in list(self.waiting.jobs):
                self._refuse(job, _no_worker())
        if self.is_stopping:
            return
        place = self.links.index(link)
        for job in self.waiting.jobs:
            if job.worker == place:
                job.worker = None
        task = asyncio.get_running_loop().create_task(self._replace(place))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _replace(self, place: int) -> None:
        pause = FIRST_PAUSE
        await self.links[place].stop()
        while not self.is_stopping:
            await asyncio.sleep(pause)
            self.metrics.restarts.inc()
            link = Link(self.settings, self._on_reply, lambda _: self._count_workers())
            try:
                await link.start()
            except (AnysceneError, OSError):
                await link.stop()
                pause = min(2 * pause, LONGEST_PAUSE)
                continue
            link._on_lost = self._on_lost
            self.links[place] = link
            self._count_workers()
            self._dispatch()
            return

    async def label(
        self,
        wish: Wish,
        picture: Picture,
        arrived: float,
        is_gone: Callable[[], bool],
        session: tuple[str, int] | None = None,
    ) -> Answer:
        """Label a picture; raise a Refusal if that cannot be done in time, or not at all.

        session : the name of the live stream that it belongs to, and the place of its worker.
        """
        if self.is_stopping:
            raise _stopping()
        if not self.ready_links:
            raise _no_worker()
        job = self._make_job(wish, picture, arrived, is_gone, session)
        self._admit(job)
        if wish.budget_ms is not None:
            self.metrics.given.labels(wish.model).observe(wish.budget_ms / 1e3)
        self._dispatch()
        try:
            body, head = await job.answer
            return Answer(job, body, head, (head["received"] - job.arrived) * 1e3)
        finally:
            if job.timer is not None:
                job.timer.cancel()
            self.waiting.remove(job)
            # The traceback of a refusal has this frame: a picture would stay until cycles are collected.
            del job

    def _make_job(
        self,
        wish: Wish,
        picture: Picture,
        arrived: float,
        is_gone: Callable[[], bool],
        session: tuple[str, int] | None,
    ) -> Job:
        budget_s = (wish.budget_ms or 0.0) / 1e3
        has_deadline = wish.budget_ms is not None and wish.counts_all
        deadline = arrived + budget_s if has_deadline else math.inf
        link = min(self.ready_links, key=lambda one: one.expected_end)
        least, look = (self._takes_ms(link, wish, picture, labels) for labels in ("first", "look"))
        due = (
            deadline
            if has_deadline
            else arrived + budget_s + (self.settings.limits.patience_ms + least) / 1e3
        )
        name, place = session or (None, None)
        if arrived + look / 1e3 > due or session is not None:  # beliefs of a stream need no look each time
            look = least
        future = asyncio.get_running_loop().create_future()
        return Job(wish, picture, arrived, deadline, due, least, look, future, is_gone, name, place)

    def _takes_ms(self, link: Link, wish: Wish, picture: Picture, labels: str) -> float:
        stages = (
            link.sending,
            link.estimates.of("decode", picture.kind, picture.pixels),
            link.estimates.of(labels, wish.model, picture.pixels),
            link.estimates.of("encode", wish.answer, picture.pixels),
            self.returning,
        )
        return high_of_sum(stages)

    def _admit(self, job: Job) -> None:
        """Take a request in, or raise why not."""
        limits, now = self.settings.limits, time.perf_counter()
        if job.latest_start > job.arrived:  # else it is lost in any case
            self._pressure.note_arrival()
        if len(self.waiting) >= limits.queue_length:
            raise self._busy(job)
        free_at = [max(now, link.expected_end if link.job else now) for link in self.ready_links]
        self._make_way(job, free_at, now)
        broken = self.waiting.broken_by([job], free_at)
        if job in broken:
            job.look_ms = job.least_ms  # first labels are better than none
            broken = self.waiting.broken_by([job], free_at)
        if any(other is job or other.wish.priority <= job.wish.priority for other in broken):
            if not self.waiting.jobs and min(free_at) <= now:
                self._forget()
            raise self._busy(job)
        for other in broken:
            self._refuse(other, self._busy(other))
        self.waiting.add(job)
        self.metrics.queue.set(len(self.waiting))
        loop = asyncio.get_running_loop()
        job.timer = loop.call_later(max(0.0, job.latest_start - now), self._give_up, job)

    def _make_way(self, job: Job, free_at: list[float], now: float) -> None:
        """If a request would come too late for a look, let a worker put back one that can wait for it.

        Nobody may lose a look by that. free_at : when each worker is free; changed if one gives way.
        """
        if not self.waiting.broken_by([job], free_at):
            return
        for place, link in enumerate(self.ready_links):
            other, freed = link.job, link.frees_at(now)
            if other is None or other.rank <= job.rank or freed >= free_at[place]:
                continue
            sooner = [*free_at[:place], freed, *free_at[place + 1 :]]
            if not self.waiting.broken_by([job, other], sooner):
                link.give_way(now)
                self.waiting.add(other)
                free_at[place] = freed
                return

    def _forget(self) -> None:
        """Nobody is served and nothing seems to fit: trust estimates less, or nothing would for ever."""
        self.returning.forget()
        for link in self.ready_links:
            link.sending.forget()
            link.estimates.forget()

    def _give_up(self, job: Job) -> None:
        """A request that waits cannot be answered in time any more."""
        if self.waiting.remove(job):
            self._refuse(job, self._busy(job))

    def _busy(self, job: Job) -> Refusal:
        workers = max(1, len(self.ready_links))
        drained = sum(other.look_ms for other in self.waiting.jobs) / workers / 1e3
        if job.wish.budget_ms is not None and job.wish.counts_all:
            message = (
                f"no labels can be there within {job.wish.budget_ms:g} ms: a free worker takes "
                f"{job.look_ms:.1f} ms for this picture, and {len(self.waiting)} requests wait"
            )
        else:
            message = f"the server is busy, {len(self.waiting)} requests wait; try again"
        return Refusal(429, "busy", message, max(1.0, drained))

    def _refuse(self, job: Job, refusal: Refusal) -> None:
        self.waiting.remove(job)
        if not job.answer.done():
            job.answer.set_exception(refusal)

    def _dispatch(self) -> None:
        """Give every free worker the request that is next."""
        for place, link in enumerate(self.links):
            while link.is_ready and link.job is None:
                job = self.waiting.next_for(place)
                if job is None:
                    break
                now = time.perf_counter()
                share = self.waiting.share_ms(now, len(self.ready_links))
                self.waiting.remove(job)
                if job.is_gone():
                    job.answer.cancel()
                elif now > job.latest_start:
                    self._refuse(job, self._busy(job))
                else:
                    self._send(link, job, now, share)
        self.metrics.queue.set(len(self.waiting))
        self._pressure.set_busy(all(link.job is not None for link in self.ready_links))

    def _send(self, link: Link, job: Job, now: float, share_ms: float) -> None:
        """Give a request to a worker, with as much time as there is for it."""
        wish, picture = job.wish, job.picture
        first, look, whole = (
            link.estimates.of(labels, wish.model, picture.pixels).mean
            for labels in ("first", "look", "whole")
        )
        around_ms = job.least_ms - first  # all but labeling
        aim_ms = max(look, min(self._pressure.longest_ms(), share_ms) - around_ms)
        label_ms = math.inf if wish.counts_all or wish.budget_ms is None else wish.budget_ms
        expected = now + (around_ms + min(whole, aim_ms, label_ms)) / 1e3
        finish_by = job.deadline - self.returning.highest / 1e3
        link.send(job, finish_by, label_ms, aim_ms, min(expected, finish_by))

    def _on_reply(self, link: Link, head: dict[str, Any], body: bytes) -> None:
        job, link.job = link.job, None
        gave_way = "gave_way" in head
        if gave_way:
            link.note_way()
            self.metrics.put_back.inc()
        elif job is not None:
            self.waiting.remove(job)  # it was to give way, and was done before
        # First the answer, then the next request: on a busy core the worker would hold up the answer.
        asyncio.get_running_loop().call_soon(asyncio.get_running_loop().call_soon, self._dispatch)
        if gave_way or job is None or job.answer.done():
            return
        if "error" in head:
            job.answer.set_exception(Refusal(head["status"], head["reason"], head["error"]))
            return
        job.answer.set_result((body, head))
        if job.session is not None:
            return  # what a stream's frame takes tells nothing of single pictures
        link.sending.note((head["received"] - link.sent_at) * 1e3)
        stages = head["stages"]
        link.estimates.note("decode", job.picture.kind, job.picture.pixels, stages["decode"])
        link.estimates.note("encode", job.wish.answer, head["pixels"], stages["encode"])
        if head["plan"]:
            first_ms = stages["label"] - sum(head["steps"][1:])
            link.estimates.note_sooner("first", job.wish.model, head["pixels"], first_ms)
        if head["budget_ms"] is None:
            link.estimates.note("whole", job.wish.model, head["pixels"], stages["label"])

    def note_handed(self, answer: Answer) -> None:
        """The last byte of an answer was handed to the socket just now."""
        now, job = time.perf_counter(), answer.job
        self.returning.note((now - answer.head["sent"]) * 1e3)
        model = job.wish.model
        self.metrics.used.labels(model).observe(now - job.arrived)
        for stage, ms in answer.stages.items():
            self.metrics.stages.labels(stage).observe(ms / 1e3)
        self.metrics.note_plan(model, "; ".join(answer.head["plan"]) or "none")
        if now > job.deadline:
            self.metrics.late.labels(model).inc()

    def close_session(self, session: str, place: int) -> None:
        """Forget a live stream."""
        with contextlib.suppress(IndexError):
            self.links[place].close_session(session)


def _stopping() -> Refusal:
    return Refusal(503, "stopping", "the server is stopping", 5)


def _no_worker() -> Refusal:
    return Refusal(503, "no worker", "no worker is ready at the moment; try again", RESTART_SECONDS)
