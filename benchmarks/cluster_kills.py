"""Workers, nodes and drivers killed at random moments; then the same command: once each, and whole."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import cluster_rigs as rigs
from benchmarks.figures import Bar, Figure, Request, missing

IMAGES, STORED = 3000, 500
KILLS = ("worker", "node", "driver") * 7
SECONDS = (0.0, 3.0)
"""Kills come so long after results have come since the one before; every fourth does not wait for results."""

RESULT_SECONDS = 150.0
"""A command, and actors in place of those that were killed, need so long at most on one busy core."""

MOST_JOBS = 12


def run(request: Request) -> Iterator[Figure]:
    """Measure."""
    if lacking := missing("ray", "pyarrow", "moto", "boto3"):
        yield Figure("faults after 20 kills", Bar("at most", 0), None, skipped=lacking)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pictures = rigs.make_pictures(request, folder, IMAGES)
        model = request.model or "camvid"
        with _store() as store:
            keys = sorted(pictures.iterdir())[:STORED]
            for path in keys:
                store.upload_file(str(path), "images", f"in/{path.name}")
            with rigs.two_nodes() as cluster:
                yield _kills(cluster, pictures, model, folder / "out")
                yield _interrupted(cluster, store, model)


def _kills(cluster: Any, pictures: Path, model: str, output: Path) -> Figure:
    """Kill 20 times, at random; a job that ends before is followed by another with more to do."""
    draw = random.Random(0)
    kinds, found, jobs, amid = list(KILLS[:20]), Counter[str](), 0, 0
    killed: Counter[str] = Counter()
    nodes = list(cluster.worker_nodes)
    while kinds and jobs < MOST_JOBS:
        jobs += 1
        own = Path(f"{output}{jobs}")
        given = (pictures, "-o", own, "--model", model, "--cluster", cluster.address)
        process = rigs.start(*given)
        while kinds:
            before = _results(own)
            if len(kinds) % 4 and not rigs.wait_until(
                lambda: process.poll() is not None or _results(own) > before,  # noqa: B023
                RESULT_SECONDS,
            ):
                break
            if rigs.wait_until(lambda: process.poll() is not None, draw.uniform(*SECONDS)):  # noqa: B023
                break  # it is done, or has failed
            if not _kill(kinds[0], process, cluster, nodes):
                continue
            killed[kinds.pop(0)] += 1
            amid += 0 < _results(own) < IMAGES
            if process.poll() is not None:
                process = rigs.start(*given)
        told, complaint = process.communicate(timeout=600)
        if process.returncode != 0:  # once more, undisturbed
            process = rigs.start(*given)
            told, complaint = process.communicate(timeout=600)
        if process.returncode != 0:
            found["commands that failed"] += 1
            told += complaint
            break
        expected = {f"file://{path}" for path in pictures.iterdir()}
        found.update(rigs.faults(rigs.manifest_files(str(own)), rigs.result_hashes(own), expected))
    return Figure(
        "faults after 20 kills",
        Bar("at most", 0),
        sum(found.values()) + len(kinds),
        parts={
            "kills": dict(killed),
            "amid results": amid,
            "jobs": jobs,
            "found": dict(found),
            "told": told[-800:],
        },
    )


def _results(output: Path) -> int:
    folder = output / "pictures"
    return len(os.listdir(folder)) if folder.exists() else 0


def _kill(kind: str, process: subprocess.Popen[str], cluster: Any, nodes: list[Any]) -> bool:
    """Kill one thing; tell whether there was one."""
    if kind == "driver":
        process.kill()
        process.communicate()
        return True
    if kind == "node":
        cluster.remove_node(nodes.pop(0), allow_graceful=False)
        nodes.append(rigs.add_node(cluster))
        return True
    workers = rigs.processes_of(rigs.WORKER_TITLE)
    if workers:
        os.kill(random.choice(workers), signal.SIGKILL)
    return bool(workers)


def _interrupted(cluster: Any, store: Any, model: str) -> Figure:
    """From a store and to it, with the driver killed in the middle."""
    given = ("s3://images/in", "-o", "s3://images/out", "--model", model, "--cluster", cluster.address)
    process = rigs.start(*given)

    def keys(prefix: str) -> list[str]:
        pages = store.get_paginator("list_objects_v2").paginate(Bucket="images", Prefix=prefix)
        return [one["Key"] for page in pages for one in page.get("Contents", ())]

    rigs.wait_until(lambda: len(keys("out/in/")) > STORED // 3 or process.poll() is not None, 200)
    process.kill()
    process.communicate()
    before = len(keys("out/in/"))
    process = rigs.start(*given)
    told, complaint = process.communicate(timeout=400)
    hashes = {}
    for key in keys("out/in/"):
        if key.endswith(".png"):
            body = store.get_object(Bucket="images", Key=key)["Body"].read()
            hashes[key] = str(hash(body))
    expected = {f"s3://{key}" for key in (f"images/{one}" for one in keys("in/"))}
    found = rigs.faults(rigs.manifest_files("s3://images/out"), hashes, expected)
    found["commands that failed"] = int(process.returncode != 0)
    return Figure(
        "faults in a store after a kill",
        Bar("at most", 0),
        sum(found.values()),
        parts={
            "found": found,
            "results at the kill": before,
            "images": len(expected),
            "told": json.loads(told) if told else complaint[-500:],
        },
    )


@contextmanager
def _store() -> Iterator[Any]:
    """An empty bucket in moto's server, whose address this process and its children know."""
    import boto3

    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "5929"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.environ |= {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:5929",
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "bench",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    try:
        store = boto3.client("s3")
        for _ in range(100):
            try:
                store.create_bucket(Bucket="images")
                break
            except Exception:
                time.sleep(0.2)
        yield store
    finally:
        server.terminate()
        server.wait()
