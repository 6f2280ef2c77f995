"""An open-loop load generator for HTTP on loopback: requests come whether or not others are answered."""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

START_SECONDS = 600
"""A server that has not started by then never will; a first start measures the machine."""


@dataclass(frozen=True)
class Shot:
    """A request to send. head : the request line and headers, but Content-Length."""

    head: bytes
    body: bytes
    budget_ms: float
    image: int


@dataclass(frozen=True)
class Hit:
    """What came of a request, status 0 if nothing. ms : from the last byte sent to the last one received."""

    shot: Shot
    status: int
    ms: float
    headers: dict[str, str]
    body: bytes

    @property
    def is_late(self) -> bool:
        """Whether it came after its deadline by more than 5 % or 1 ms."""
        return self.ms > self.shot.budget_ms + max(0.05 * self.shot.budget_ms, 1.0)


@dataclass(frozen=True)
class Running:
    """A server process that listens."""

    process: subprocess.Popen[str]
    port: int


@contextmanager
def serving(command: Sequence[str], core: int | None, listens: str) -> Iterator[Running]:
    """Run a server on one core (None: any) until the block ends. listens : what it prints, with its port."""
    pin = (lambda: os.sched_setaffinity(0, {core})) if core is not None else None
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=pin,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        until = time.monotonic() + START_SECONDS
        for line in process.stdout:
            if found := re.search(listens, line):
                _put_first(process.pid)
                yield Running(process, int(found[1]))
                return
            if time.monotonic() > until:
                break
        raise RuntimeError(f"{command[0]} did not start")
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # whatever it left behind


def _put_first(pid: int) -> None:
    """Let the listening process go before its workers where the bench has real-time priority (`chrt -r 1`).

    Processes of the same real-time priority do not interrupt each other, as usual ones do.
    """
    if os.sched_getscheduler(0) == os.SCHED_RR:
        ahead = os.sched_getparam(0).sched_priority + 1
        os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(ahead))


def serve_command(model: str, *more: str) -> list[str]:
    """The command that starts our server on a free port."""
    return [sys.executable, "-u", "-m", "anyscene", "serve", "--model", model, "--port", "0", *more]


class Client:
    """Keeps connections that are free, and opens more as they are needed."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def send(self, shot: Shot) -> Hit:
        """Send one request and read its answer; once more if a server closed the idle connection before."""
        is_reused = bool(self._free)
        hit = await self._send(shot, is_reused)
        return await self._send(shot, False) if is_reused and not hit.status else hit

    async def _send(self, shot: Shot, is_reused: bool) -> Hit:
        begun = time.perf_counter()
        try:
            reader, writer = self._free.pop() if is_reused else await self._connect()
            writer.write(shot.head + b"Content-Length: %d\r\n\r\n" % len(shot.body) + shot.body)
            await writer.drain()
            sent = time.perf_counter()
            status, headers = _parsed(await reader.readuntil(b"\r\n\r\n"))
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            done = time.perf_counter()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return Hit(shot, 0, (time.perf_counter() - begun) * 1e3, {}, b"")
        if headers.get("connection") == "close":
            writer.close()
        else:
            self._free.append((reader, writer))
        return Hit(shot, status, (done - sent) * 1e3, headers, body)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self._port, limit=2**22)

    def close(self) -> None:
        """Close all connections."""
        for _, writer in self._free:
            writer.close()


def _parsed(head: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    return int(first.split()[1]), {name.lower(): value.strip() for name, _, value in pairs}


def one_after_the_other(port: int, shots: Sequence[Shot]) -> list[Hit]:
    """Send each request when the one before it was answered, by a connection without an event loop's cost."""
    hits = []
    with socket.create_connection(("127.0.0.1", port)) as opened, opened.makefile("rb") as file:
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for shot in shots:
            opened.sendall(shot.head + b"Content-Length: %d\r\n\r\n" % len(shot.body) + shot.body)
            sent = time.perf_counter()
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += file.readline()
            status, headers = _parsed(head)
            body = file.read(int(headers.get("content-length", "0")))
            hits.append(Hit(shot, status, (time.perf_counter() - sent) * 1e3, headers, body))
    return hits


def at_a_rate(port: int, pick: Callable[[random.Random], Shot], rate: float, seconds: float) -> list[Hit]:
    """Send requests at random moments (Poisson), so many a second on average."""

    async def run() -> list[Hit]:
        client, chance = Client(port), random.Random(0)
        tasks = []
        moment = time.perf_counter()
        until = moment + seconds
        while moment < until:
            moment += chance.expovariate(rate)
            await asyncio.sleep(max(0.0, moment - time.perf_counter()))
            tasks.append(asyncio.create_task(client.send(pick(chance))))
        hits = await asyncio.gather(*tasks)
        client.close()
        return list(hits)

    return asyncio.run(run())
