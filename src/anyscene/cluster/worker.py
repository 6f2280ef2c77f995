"""What every worker of a job does, wherever it runs: label chunks of images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anyscene.cluster.dealing import Deal, Took
from anyscene.cluster.labeler import Labeler, Looks, cpu_ms, node_name
from anyscene.cluster.manifest import manifest_rows
from anyscene.cluster.places import place
from anyscene.cluster.todo import Chunk, Task, read_tasks
from anyscene.outputs.records import Record

if TYPE_CHECKING:
    import pyarrow

MOST_ATTEMPTS = 3
"""After so many workers have died on a chunk, its images are watched one by one."""

MOST_DEATHS = 2
"""An image on which so many workers died is given up."""

ENDED = "the process that labelled it was ended each time, perhaps for want of memory; scale it down"


@dataclass(frozen=True)
class Work:
    """What a worker must know. model : a name, or a path on this machine. todo, output : folders."""

    model: str
    todo: str
    output: str
    column: str | None = None
    looks: Looks = field(default_factory=Looks)


class Worker:
    """Loads its model once; labels chunks of images."""

    def __init__(self, work: Work) -> None:
        self._labeler = Labeler(work.model, column=work.column, output=work.output, looks=work.looks)
        self._todo = place(work.todo)
        self._read: tuple[int, list[Task]] = (-1, [])
        self._told_ms = 0.0

    def label(
        self, chunk: Chunk, deal: Deal, suspect: Callable[[bytes], int] = lambda image: 0
    ) -> tuple[pyarrow.Table, Took]:
        """Label the images of a chunk; return rows of the manifest, and what they took.

        suspect : is told of each image beforehand if others died on this chunk; tells how often by now.
        """
        begun = cpu_ms()
        rows, labeling_ms, before = [], 0.0, begun
        careful = deal.attempt > MOST_ATTEMPTS
        for task in self._tasks(chunk):
            if careful and suspect(task.id) > MOST_DEATHS:
                record = given_up(task)
            else:
                record, _ = self._labeler.label(task.image, task.image.file, task.target, deal.budget_ms)
            now = cpu_ms()
            rows.append((record, told_beside(task, now - before)))
            labeling_ms += record.ms or 0.0
            before = now
        table = manifest_rows(rows)
        ended = cpu_ms()
        took = Took(chunk.size, ended - self._told_ms, ended - begun, labeling_ms)
        self._told_ms = ended
        return table, took

    def _tasks(self, chunk: Chunk) -> list[Task]:
        if self._read[0] != chunk.file:
            self._read = chunk.file, read_tasks(self._todo, chunk.file)
        return self._read[1][chunk.start : chunk.stop]


def given_up(task: Task) -> Record:
    """The record of an image on which workers die."""
    return Record(task.image.file, "failed", error=f"{task.image.file}: {ENDED}")


def told_beside(task: Task, cpu_ms: float) -> dict[str, object]:
    """What the manifest has beside a record."""
    return {"id": task.id, "version": task.image.version, "cpu_ms": cpu_ms, "node": node_name()}
