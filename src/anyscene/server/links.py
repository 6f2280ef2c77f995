"""The listening process's side of a worker: its process, its connection, and what it is busy with."""

from __future__ import annotations

import asyncio
import contextlib
import math
import multiprocessing
import socket
import time
from collections.abc import Callable
from multiprocessing.context import SpawnProcess
from typing import Any, cast

from anyscene.errors import ModelError
from anyscene.server import wire, worker
from anyscene.server.config import Settings
from anyscene.server.estimates import Estimates, Running
from anyscene.server.waiting import Job

STOP_SECONDS = 2.0
"""A worker that was told to end and does not within this time is killed."""


class Link(asyncio.Protocol):
    """One worker. `job` is what it is busy with; `is_ready` from when its models are loaded on.

    expected_end : when it will be free, as far as can be told. sending : milliseconds until it has a request.
    giving_way : milliseconds until it is free if it gives up what it is busy with.
    """

    def __init__(
        self,
        settings: Settings,
        on_reply: Callable[[Link, dict[str, Any], bytes], None],
        on_lost: Callable[[Link], None],
    ) -> None:
        self.job: Job | None = None
        self.is_ready = False
        self.expected_end = 0.0
        self.sent_at = 0.0
        self.sending = Running(0.2)
        self.giving_way = Running(0.5)
        self.estimates = Estimates()
        self.models: dict[str, Any] = {}
        self._settings = settings
        self._on_reply, self._on_lost = on_reply, on_lost
        self._reader = wire.Reader(self._take)
        self._started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport | None = None
        self._way: socket.socket | None = None  # says which request is to give way
        self._sent = 0
        self._can_give_way = False
        self._asked_at = 0.0
        self._process: SpawnProcess | None = None
        self._guard: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        """Start the process and wait until its models are loaded; raise a ModelError if they cannot be."""
        ours, theirs = wire.connected_pair()
        self._way, their_way = socket.socketpair()
        # Not fork: this process has a running event loop, and libraries that have threads.
        context = multiprocessing.get_context("spawn")
        models = {name: str(path) for name, path in self._settings.models.items()}
        self._process = context.Process(
            target=worker.run, args=(theirs, their_way, models, self._settings.limits.pixels), daemon=True
        )
        self._process.start()
        theirs.close()
        their_way.close()
        ours.setblocking(False)
        await asyncio.get_running_loop().create_connection(lambda: self, sock=ours)
        await self._started

    @property
    def pid(self) -> int | None:
        """The process's number."""
        return self._process.pid if self._process else None

    def send(self, job: Job, finish_by: float, label_ms: float, aim_ms: float, expected_end: float) -> None:
        """Give a request to the worker.

        finish_by : when its reply must be here. label_ms : the most that labeling may take.
        aim_ms : what it should take. All of them may be infinity.
        """
        assert self._transport is not None
        self.job, self.sent_at, self.expected_end = job, time.perf_counter(), expected_end
        self._sent += 1
        # Only what has a deadline can be stopped, and a stream's state cannot be put back.
        self._can_give_way = job.session is None and min(finish_by, label_ms) < math.inf
        head = {
            "id": self._sent,
            "kind": job.picture.kind,
            "width": job.picture.width,
            "height": job.picture.height,
            "model": job.wish.model,
            "answer": job.wish.answer,
            "until": job.wish.until,
            "session": job.session,
            "finish_by": finish_by,
            "label_ms": label_ms,
            "aim_ms": aim_ms,
        }
        self._transport.write(wire.pack(head, job.picture.data))
        most = max(0.0, expected_end - self.sent_at) + self._settings.limits.job_seconds
        self._guard = asyncio.get_running_loop().call_later(most, self.kill)

    def frees_at(self, now: float) -> float:
        """When the worker is free if it gives way; never, if it cannot."""
        return now + self.giving_way.mean / 1e3 if self._can_give_way else math.inf

    def give_way(self, now: float) -> None:
        """Ask the worker to give up its request; it may still answer it."""
        assert self._way is not None
        self.expected_end, self._asked_at, self._can_give_way = self.frees_at(now), now, False
        self._way.send(wire.NUMBER.pack(self._sent))

    def note_way(self) -> None:
        """The worker gave way just now."""
        self.giving_way.note((time.perf_counter() - self._asked_at) * 1e3)

    def close_session(self, session: str) -> None:
        """Let the worker forget a live stream."""
        if self._transport is not None:
            self._transport.write(wire.pack({"close": session}))

    def kill(self) -> None:
        """End the process at once."""
        if self._process is not None:
            with contextlib.suppress(ValueError):  # it has ended and was closed
                self._process.kill()

    async def stop(self) -> None:
        """End the process when it has finished what it is busy with."""
        if self._transport is not None:
            self._transport.close()
        if self._way is not None:
            self._way.close()
        if self._process is not None:
            await asyncio.to_thread(self._process.join, STOP_SECONDS)
            self.kill()
            await asyncio.to_thread(self._process.join)
            self._process.close()
            self._process = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's only look like asyncio's

    def data_received(self, data: bytes) -> None:
        """Bytes came from the worker."""
        self._reader.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """The worker is gone."""
        self.is_ready = False
        if self._guard is not None:
            self._guard.cancel()
        if not self._started.done():
            self._started.set_exception(ModelError("a worker ended before its models were loaded"))
        self._on_lost(self)

    def _take(self, head: dict[str, Any], body: bytes) -> None:
        if "failed" in head:
            self._started.set_exception(ModelError(head["failed"]))
        elif "ready" in head:
            self.models = head["ready"]
            self.estimates = Estimates(head["measured"])
            self.is_ready = True
            self._started.set_result(None)
        else:
            if self._guard is not None:
                self._guard.cancel()
            self._on_reply(self, head, body)
