"""The bench `server`: deadlines over HTTP under load, beside LitServe with the same network at full size.

The server and the load generator have a core each. Latency is the client's: from the last byte sent to the
last byte received, which includes all that happens on the way.
"""

from __future__ import annotations

import base64
import json
import os
import random
import signal
import socket
import time
import urllib.request
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from PIL import Image

from anyscene.data import SceneList
from anyscene.errors import ConfigError
from benchmarks.deadline import scenes_of
from benchmarks.figures import Bar, Figure, Request
from benchmarks.load import Hit, Shot, at_a_rate, one_after_the_other, serve_command, serving

BUDGETS_MS = (10, 30, 100)
LOADS = (0.5, 1.0, 2.0, 4.0)
SECONDS = 20.0
CALM = 240
SERVER_CORE, CLIENT_CORE = 0, 1
LISTENS = r"listening on .*:(\d+)"
RIVAL_PYTHON = Path(".venv-bench/bin/python")
SETTLING_SECONDS = 3.0


def run(request: Request) -> Iterator[Figure]:
    """Measure on the scenes of `request.data`, which must have the model's classes for accuracy."""
    scenes = scenes_of(request)
    model = request.model or "camvid"
    bodies = [jpeg(scenes.image(index)) for index in range(len(scenes))]
    if len(os.sched_getaffinity(0)) > 1:
        os.sched_setaffinity(0, {CLIENT_CORE})
    with serving(serve_command(model, "--workers", "1"), SERVER_CORE, LISTENS) as server:
        calm = _calm(server.port, bodies)
        capacity = 1e3 / mean(hit.ms for hit in calm)
        under = {}
        for load in LOADS:
            time.sleep(SETTLING_SECONDS)
            under[load] = at_a_rate(server.port, _picker(bodies), load * capacity, SECONDS)
        overhead = _overhead(server.port, bodies)
    yield from _figures(calm, under, capacity, scenes if request.data else None)
    yield overhead
    yield _killed(model, bodies)
    yield _rival(model, bodies, capacity, scenes if request.data else None)


def jpeg(image: np.ndarray[Any, Any]) -> bytes:
    """Pack an image as the JPEG of 480x360 that requests bring."""
    file = BytesIO()
    picture = Image.fromarray(image)
    (picture if picture.size == (480, 360) else picture.resize((480, 360))).save(file, "JPEG", quality=90)
    return file.getvalue()


def label_shot(bodies: Sequence[bytes], image: int, budget: float, query: str = "") -> Shot:
    """A request for labels within a budget."""
    head = f"POST /v1/label?budget={budget}ms{query} HTTP/1.1\r\nHost: localhost\r\n".encode()
    return Shot(head, bodies[image], budget, image)


def _picker(bodies: Sequence[bytes]) -> Any:
    def pick(chance: random.Random) -> Shot:
        return label_shot(bodies, chance.randrange(len(bodies)), chance.choice(BUDGETS_MS))

    return pick


def _calm(port: int, bodies: Sequence[bytes]) -> list[Hit]:
    """One request after the other: what the server does when nobody else asks."""
    pick, chance = _picker(bodies), random.Random(1)
    one_after_the_other(port, [pick(chance) for _ in range(CALM // 4)])
    return one_after_the_other(port, [pick(chance) for _ in range(CALM)])


def _figures(
    calm: Sequence[Hit], under: dict[float, list[Hit]], capacity: float, scenes: SceneList | None
) -> Iterator[Figure]:
    told = {
        "unloaded": _told(calm, scenes),
        **{f"{load:g} x": _told(hits, scenes) for load, hits in under.items()},
    }
    parts = {"capacity, requests/s": capacity, **told}
    late = max(tally["late"] for tally in told.values())
    yield Figure("answered late at any load", Bar("at most", 0.02), late, parts=parts)
    most, twice = under[4.0], under[2.0]
    done = sum(hit.status in (200, 429) and not hit.is_late for hit in most) / len(most)
    yield Figure("answered or refused by the deadline at 4 times capacity", Bar("at least", 0.98), done)
    refused = [hit.ms for hit in most if hit.status == 429]
    if refused:
        yield Figure("time to a refusal, median", Bar("at most", 5.0), median(refused), "ms")
    else:
        yield Figure("time to a refusal, median", Bar("at most", 5.0), None, skipped="nothing was refused")
    yield Figure("answered in time at 2 times capacity", Bar("at least", 0.9), _in_time(twice))
    name, bar = "accuracy at 2 times capacity, points below the unloaded server's", Bar("at most", 3.0)
    if scenes is None:
        yield Figure(name, bar, None, skipped="needs --data with the model's classes")
    else:
        yield Figure(name, bar, 100 * (_accuracy(calm, scenes) - _accuracy(twice, scenes)), "points")


def _in_time(hits: Sequence[Hit]) -> float:
    return sum(hit.status == 200 and not hit.is_late for hit in hits) / len(hits)


def _told(hits: Sequence[Hit], scenes: SceneList | None) -> dict[str, Any]:
    """All that one run came to."""
    answered = [hit for hit in hits if hit.status == 200]
    by_budget = {
        f"{budget} ms": {
            "answered in time": _in_time([hit for hit in hits if hit.shot.budget_ms == budget]),
            "median ms": median([hit.ms for hit in answered if hit.shot.budget_ms == budget] or [0.0]),
        }
        for budget in BUDGETS_MS
    }
    return {
        "requests": len(hits),
        "answered in time": _in_time(hits),
        "late": sum(hit.is_late for hit in answered) / len(hits),
        "late by at most 5 ms": sum(hit.is_late and hit.ms < hit.shot.budget_ms + 5 for hit in answered)
        / len(hits),
        "refused": sum(hit.status == 429 for hit in hits) / len(hits),
        "failed": sum(hit.status not in (200, 429) for hit in hits) / len(hits),
        "prior only": sum(hit.headers.get("anyscene-is-prior") == "true" for hit in answered) / len(hits),
        "accuracy": _accuracy(hits, scenes) if scenes is not None else None,
        "by budget": by_budget,
    }


def _accuracy(hits: Sequence[Hit], scenes: SceneList) -> float:
    """The mean share of pixels that are right, of what was answered."""
    shares = []
    for hit in hits:
        truth = scenes.truth(hit.shot.image) if hit.status == 200 else None
        if truth is not None:
            labels = np.asarray(Image.open(BytesIO(hit.body))).astype(np.int16)
            known = truth >= 0
            shares.append(float((labels == truth)[known].mean()))
    return mean(shares) if shares else float("nan")


def _overhead(port: int, bodies: Sequence[bytes]) -> Figure:
    """What a request takes besides labeling, with one client: decoding, encoding and HTTP."""
    time.sleep(SETTLING_SECONDS)
    shots = [label_shot(bodies, index % len(bodies), 20, "&clock=labeling") for index in range(CALM)]
    spent, stages = [], []
    for hit in one_after_the_other(port, shots)[CALM // 4 :]:
        timing = dict(part.split(";dur=") for part in hit.headers["server-timing"].split(", "))
        spent.append(hit.ms - float(timing["label"]))
        stages.append({name: float(ms) for name, ms in timing.items()})
    parts = {name: median(stage[name] for stage in stages) for name in stages[0]}
    return Figure("overhead over model.label, one client", Bar("at most", 3.0), median(spent), "ms", parts)


def _killed(model: str, bodies: Sequence[bytes]) -> Figure:
    """Kill one of two workers under a light load; how long until there are two again."""
    with serving(serve_command(model, "--workers", "2"), None, LISTENS) as server:
        victim = workers_of(server.process.pid)[0]
        moment = [0.0, 0.0]

        def pick(chance: random.Random) -> Shot:
            if not moment[0] and chance.random() < 0.05:
                os.kill(victim, signal.SIGKILL)
                moment[0] = time.monotonic()
            return label_shot(bodies, chance.randrange(len(bodies)), 500)

        hits = at_a_rate(server.port, pick, 5.0, 10.0)
        url = f"http://127.0.0.1:{server.port}/metrics"
        while b"anyscene_workers 2.0" not in urllib.request.urlopen(url).read():
            time.sleep(0.1)
        moment[1] = time.monotonic()
    statuses = {
        str(status): sum(hit.status == status for hit in hits) for status in {hit.status for hit in hits}
    }
    # The load runs for some seconds after the kill, so that this is an upper bound.
    return Figure(
        "a new worker in place after one was killed",
        Bar("at most", 15.0),
        moment[1] - moment[0],
        "s",
        statuses,
    )


def workers_of(parent: int) -> list[int]:
    """The worker processes of a server."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                command = (entry / "cmdline").read_text()
            except OSError:
                continue
            if int(stat[1]) == parent and "resource_tracker" not in command:
                found.append(int(entry.name))
    return found


def _rival(model: str, bodies: Sequence[bytes], capacity: float, scenes: SceneList | None) -> Figure:
    """The same load on LitServe: answered in time at twice our capacity, and at the other loads."""
    name = "LitServe, the network at full size: answered in time at 2 times our capacity"
    if not RIVAL_PYTHON.exists():
        return Figure(name, None, None, skipped="needs .venv-bench with litserve (make bench-env)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(RIVAL_PYTHON), "-u", "benchmarks/litserve_rival.py", model, str(port)]
    head = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    packed = [json.dumps({"image": base64.b64encode(body).decode()}).encode() for body in bodies]
    told = {}
    for load in LOADS:  # a new one each time: what one load leaves in its queue would spoil the next
        with serving(
            ["bash", "-c", f"{' '.join(command)} & echo starting {port}; wait"],
            SERVER_CORE,
            r"starting (\d+)",
        ):
            _wait_until_open(port)

            def pick(chance: random.Random) -> Shot:
                image = chance.randrange(len(bodies))
                return Shot(head, packed[image], chance.choice(BUDGETS_MS), image)

            _wait_until_it_answers(port, [pick(random.Random(1)) for _ in range(10)])
            told[f"{load:g} x"] = _told(at_a_rate(port, pick, load * capacity, SECONDS / 2), scenes)
    return Figure(name, None, told["2 x"]["answered in time"], parts=told)


def _wait_until_it_answers(port: int, shots: Sequence[Shot]) -> None:
    """Send requests until all are answered: LitServe resets connections while its workers start."""
    for _ in range(20):
        try:
            one_after_the_other(port, shots)
        except OSError:
            time.sleep(1)
        else:
            return
    raise ConfigError("LitServe did not answer within 20 s")


def _wait_until_open(port: int) -> None:
    for _ in range(1200):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise RuntimeError("LitServe did not start")
