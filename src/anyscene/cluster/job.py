"""A job over many images: labelled once each, whoever does it, and whatever is killed on the way."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from anyscene.cluster.dealing import Caps, Dealer
from anyscene.cluster.executors import Executor
from anyscene.cluster.ids import IdSet
from anyscene.cluster.images import Listing
from anyscene.cluster.labeler import Labeler, cpu_ms
from anyscene.cluster.manifest import Manifest
from anyscene.cluster.places import place
from anyscene.cluster.todo import FILE_ROWS, Todo, read_tasks, write_todo
from anyscene.cluster.worker import Work

if TYPE_CHECKING:
    import pyarrow

LEAST_SECONDS, MOST_SECONDS, LOST_SHARE = 1.0, 60.0, 0.01
"""Records are written down so often: a job that is killed repeats a hundredth of its work, or a second's."""

SAMPLE = 200
"""Images that an estimate is made from."""


def run_job(
    work: Work, todo: Todo, manifest: Manifest, executor: Executor, dealer: Dealer
) -> Iterator[pyarrow.Table]:
    """Label what is to be done; yield what became of it, which the manifest has by then or soon after."""
    begun = written = time.monotonic()
    waiting: list[pyarrow.Table] = []
    try:
        for table in executor(work, todo.chunks(), dealer):
            waiting.append(table)
            now = time.monotonic()
            if now - written >= min(max(LOST_SHARE * (now - begun), LEAST_SECONDS), MOST_SECONDS):
                _record(manifest, waiting)
                written = now
            yield table
    finally:  # also where it is stopped
        _record(manifest, waiting)
    manifest.compact()
    todo.remove()


def _record(manifest: Manifest, waiting: list[pyarrow.Table]) -> None:
    import pyarrow as pa

    if waiting:
        manifest.add(pa.concat_tables(waiting))
        waiting.clear()


class Estimate(NamedTuple):
    """What a job would take. images : of which there were this many to try, see `SAMPLE`."""

    left: int
    images: int
    cpu_hours: float
    hours: float
    image_cpu_ms: float


def estimate(
    work: Work, listing: Listing, known: IdSet, way: bytes, caps: Caps, workers: int
) -> tuple[Todo, Estimate]:
    """Label some images on this machine, write nothing, and tell what all would take."""
    with TemporaryDirectory(prefix="anyscene-") as folder:
        todo = write_todo(listing, known, way, place(folder))
        chosen = np.unique(np.linspace(0, todo.left - 1, min(SAMPLE, todo.left)).astype(int)).tolist()
        if not chosen:
            return todo, Estimate(0, 0, 0.0, 0.0, 0.0)
        labeler = Labeler(work.model, column=work.column, looks=work.looks)
        ready_ms = cpu_ms()
        dealer = Dealer(replace(caps, total_ms=None), todo.left, workers, ready_ms * workers)
        budget_ms = dealer.deal(next(todo.chunks())).budget_ms
        begun = time.monotonic()
        for index in chosen:
            task = read_tasks(todo.folder, index // FILE_ROWS)[index % FILE_ROWS]
            labeler.label(task.image, task.image.file, None, budget_ms)
        seconds, own_ms = time.monotonic() - begun, cpu_ms() - ready_ms
    each_ms = own_ms / len(chosen)
    cpu_hours = (each_ms * todo.left + ready_ms * workers) / 3.6e6
    hours = (1e3 * seconds / len(chosen) * todo.left / workers + ready_ms) / 3.6e6
    return todo, Estimate(todo.left, len(chosen), cpu_hours, hours, each_ms)
