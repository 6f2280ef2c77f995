"""The bench `server_soak`: twenty minutes at full load, one request in twenty hostile.

`ANYSCENE_SOAK_MINUTES` makes it shorter, for a first look.
"""

from __future__ import annotations

import asyncio
import os
import random
import struct
import threading
import time
import urllib.request
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, median

from benchmarks.deadline import scenes_of
from benchmarks.figures import Bar, Figure, Request
from benchmarks.load import Client, Hit, Shot, one_after_the_other, serve_command, serving
from benchmarks.server import BUDGETS_MS, LISTENS, SERVER_CORE, jpeg, label_shot, workers_of

MINUTES = 20.0
HOSTILE = 0.05
SAMPLE_SECONDS = 5.0
SLOW_SECONDS = 3.0
LONGEST_DELAY = 1.0
PAGE_KIB = 4


def run(request: Request) -> Iterator[Figure]:
    """Measure on the scenes of `request.data` (generated streets without it)."""
    minutes = float(os.environ.get("ANYSCENE_SOAK_MINUTES", MINUTES))
    scenes = scenes_of(request)
    bodies = [jpeg(scenes.image(index)) for index in range(min(50, len(scenes)))]
    command = serve_command(request.model or "camvid", "--workers", "1")
    core = SERVER_CORE if len(os.sched_getaffinity(0)) > 1 else None
    with serving(command, core, LISTENS) as server:
        calm = [label_shot(bodies, index % len(bodies), BUDGETS_MS[index % 3]) for index in range(90)]
        rate = 1e3 / mean(hit.ms for hit in one_after_the_other(server.port, calm))
        before = workers_of(server.process.pid)
        memory: list[float] = []
        done = threading.Event()
        watch = threading.Thread(target=_watch, args=([server.process.pid, *before], memory, done))
        watch.start()
        try:
            tally, evil = asyncio.run(_storm(server.port, bodies, rate, minutes * 60))
        finally:
            done.set()
            watch.join()
        crashes = int(server.process.poll() is not None) + len(
            set(before) - set(workers_of(server.process.pid))
        )
        crashes += int(_metric(server.port, "anyscene_worker_restarts_total"))
    parts = {"minutes": minutes, "requests/s": rate, "good": dict(tally), "hostile": dict(evil)}
    yield Figure("processes that ended", Bar("at most", 0), crashes, parts=parts)
    lost = sum(count for status, count in tally.items() if status not in ("200", "429"))
    yield Figure("good requests that were neither answered nor refused", Bar("at most", 0), lost)
    quarter = max(1, len(memory) // 4)
    growth = median(memory[-quarter:]) / median(memory[quarter : 2 * quarter]) - 1
    parts = {"MiB": [round(value) for value in memory[:: max(1, len(memory) // 40)]]}
    yield Figure(
        "growth of memory from the second to the last quarter", Bar("at most", 0.03), growth, parts=parts
    )


def _watch(pids: Sequence[int], memory: list[float], done: threading.Event) -> None:
    """Note how much memory the server's processes have, in MiB."""
    while not done.wait(SAMPLE_SECONDS):
        pages = 0
        for pid in pids:
            try:
                pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            except OSError:
                continue
        memory.append(pages * PAGE_KIB / 1024)


def _metric(port: int, name: str) -> float:
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
    return next((float(line.split()[1]) for line in text.splitlines() if line.startswith(f"{name} ")), 0.0)


async def _storm(
    port: int, bodies: Sequence[bytes], rate: float, seconds: float
) -> tuple[Counter[str], Counter[str]]:
    """Send good requests at a rate, and hostile ones among them; what came of each."""
    client, chance = Client(port), random.Random(0)
    tally: Counter[str] = Counter()
    evil: Counter[str] = Counter()
    tasks: set[asyncio.Task[None]] = set()

    async def good() -> None:
        shot = label_shot(bodies, chance.randrange(len(bodies)), chance.choice(BUDGETS_MS))
        hit: Hit = await client.send(shot)
        tally[str(hit.status)] += 1

    async def bad() -> None:
        name = chance.choice(sorted(HOSTILITIES))
        evil[f"{name}: {await HOSTILITIES[name](port, client, chance.choice(bodies))}"] += 1

    moment = time.perf_counter()
    for _ in range(round(rate * seconds)):
        # A bench that was stopped for a while goes on as before, and does not make up for what it missed.
        moment = max(moment + chance.expovariate(rate), time.perf_counter() - LONGEST_DELAY)
        await asyncio.sleep(max(0.0, moment - time.perf_counter()))
        task = asyncio.create_task(bad() if chance.random() < HOSTILE else good())
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)
    client.close()
    return tally, evil


async def _post(client: Client, body: bytes) -> str:
    head = b"POST /v1/label?budget=100ms HTTP/1.1\r\nHost: localhost\r\n"
    return str((await client.send(Shot(head, body, 100.0, 0))).status)


async def _truncated(port: int, client: Client, body: bytes) -> str:
    return await _post(client, body[: len(body) // 2])


async def _bomb(port: int, client: Client, body: bytes) -> str:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0))
    return await _post(client, b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(bytes(100_000))))


async def _wrong_type(port: int, client: Client, body: bytes) -> str:
    return await _post(client, b"%PDF-1.7 and so on" * 100)


async def _slow(port: int, client: Client, body: bytes) -> str:
    """Send the body byte by byte, and leave before it is complete."""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST /v1/label HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body))
    until = time.perf_counter() + SLOW_SECONDS
    while time.perf_counter() < until:
        writer.write(body[:1])
        await asyncio.sleep(0.1)
    writer.close()
    return "left"


async def _leaver(port: int, client: Client, body: bytes) -> str:
    """Send a whole request and leave at once."""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    head = b"POST /v1/label?budget=100ms HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
    writer.write(head % len(body) + body)
    await writer.drain()
    writer.transport.abort()
    return "left"


HOSTILITIES = {
    "truncated": _truncated,
    "bomb": _bomb,
    "wrong type": _wrong_type,
    "slow sender": _slow,
    "leaves at once": _leaver,
}
