"""One job by Ray, by several processes and by one: the same bytes, as fast, and within its cap."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from anyscene.cluster.dealing import Caps, Dealer
from anyscene.cluster.executors import Executor, in_processes, in_this_process
from anyscene.cluster.ids import IdSet
from anyscene.cluster.images import Listing
from anyscene.cluster.job import run_job
from anyscene.cluster.manifest import Manifest
from anyscene.cluster.places import place
from anyscene.cluster.todo import write_todo
from anyscene.cluster.worker import Work
from benchmarks.cluster_rigs import make_pictures, result_hashes, start, two_nodes
from benchmarks.figures import Bar, Figure, Request, missing

IMAGES = 2000
STARTED = 0.25
"""Runs are timed from when a quarter of the images is done: by then all workers are at work."""

CAP_HOURS = 60 / 3600
"""Too little for all images and their overlays: the job must end by itself."""


@dataclass(frozen=True)
class Timed:
    """A run. seconds : for the images after start-up."""

    hashes: dict[str, str]
    seconds: float


def run(request: Request) -> Iterator[Figure]:
    """Measure."""
    if lacking := missing("ray", "pyarrow"):
        yield Figure("images whose results differ", Bar("at most", 0), None, skipped=lacking)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pictures = make_pictures(request, folder, IMAGES)
        model = request.model or "camvid"
        runs = {
            "one process": _timed(pictures, model, folder / "one", in_this_process, 1),
            "two processes": _timed(pictures, model, folder / "two", in_processes(2), 2),
        }
        runs |= dict(_by_ray(pictures, model, folder))
        yield from _compare(runs)
        yield _capped(pictures, model, folder / "capped")


def _by_ray(pictures: Path, model: str, folder: Path) -> Iterator[tuple[str, Timed]]:
    from anyscene.cluster.ray_executor import connected, on_ray

    with two_nodes() as cluster, connected(cluster.address):
        yield "two actors", _timed(pictures, model, folder / "ray two", on_ray(2, 2), 2)
        yield "one actor", _timed(pictures, model, folder / "ray one", on_ray(1, 1), 1)


def _timed(pictures: Path, model: str, output: Path, executor: Executor, workers: int) -> Timed:
    where = place(str(output))
    todo = write_todo(Listing([str(pictures)], [], where), IdSet(), b"", where)
    work = Work(model, todo.folder.uri, where.uri)
    done, begun = 0, 0.0
    for table in run_job(work, todo, Manifest(where), executor, Dealer(Caps(), todo.left, workers)):
        done += table.num_rows
        if not begun and done >= STARTED * todo.left:
            begun = time.perf_counter()
    return Timed(result_hashes(output), time.perf_counter() - begun)


def _compare(runs: dict[str, Timed]) -> Iterator[Figure]:
    first, *others = (each.hashes for each in runs.values())
    names = set(first).union(*others)
    different = sum(any(other.get(name) != first.get(name) for other in others) for name in names)
    seconds = {name: each.seconds for name, each in runs.items()}
    yield Figure(
        "images whose results differ",
        Bar("at most", 0),
        different + abs(len(first) - IMAGES),
        parts={"images": len(first), "runs": list(runs)},
    )
    yield Figure(
        "time of two actors against two processes",
        Bar("at most", 1.1),
        seconds["two actors"] / seconds["two processes"],
        parts=seconds,
    )
    gains = seconds["one actor"] / seconds["two actors"], seconds["one process"] / seconds["two processes"]
    yield Figure(
        "speed-up by a second actor against that by a second process",
        Bar("at least", 0.9),
        gains[0] / gains[1],
        parts={"actors": gains[0], "processes": gains[1]},
    )


def _capped(pictures: Path, model: str, output: Path) -> Figure:
    """Run the command under a cap that is too low for all images; the system says what it took."""
    given = (f"file://{pictures}", "-o", output, "--model", model, "--workers", 2)
    before = os.times()
    process = start(*given, "--cpu-hours", CAP_HOURS, "--overlay")
    told, _ = process.communicate(timeout=600)
    after = os.times()
    took = after.children_user + after.children_system - before.children_user - before.children_system
    return Figure(
        "CPU time taken, off its cap",
        Bar("at most", 0.05),
        abs(took / (3600 * CAP_HOURS) - 1) if json.loads(told)["not_reached"] else float("nan"),
        parts={"seconds": took, "cap": 3600 * CAP_HOURS, "told": json.loads(told)},
    )
