"""What is left of a job: its images less those in the manifest, in small files that all workers can read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from anyscene.cluster.ids import ID_BYTES, IdSet, id_bytes, ids_of
from anyscene.cluster.images import Image, stem
from anyscene.cluster.places import Place

FOLDER = "anyscene-todo"
FILE_ROWS = 4096
READ_ROWS = 100_000

SMALLEST_CHUNK, LARGEST_CHUNK, MOST_CHUNKS = 32, 512, 20_000
"""Workers take images by chunks: few, so that whoever deals them out keeps little in memory, and small, so
that workers end together and a worker that is killed loses seconds of work."""


class Chunk(NamedTuple):
    """Some images of a file of the to-do folder."""

    file: int
    start: int
    stop: int

    @property
    def size(self) -> int:
        """How many images it has."""
        return self.stop - self.start


class Task(NamedTuple):
    """An image to be labelled. target : where its results go inside the output, without a suffix."""

    id: bytes
    target: str
    image: Image


@dataclass(frozen=True)
class Todo:
    """images : how many the job has in all. left : how many are to be labelled."""

    folder: Place
    images: int
    left: int

    def chunks(self) -> Iterator[Chunk]:
        """All that is to be done, in pieces."""
        size = min(max(self.left // MOST_CHUNKS, SMALLEST_CHUNK), LARGEST_CHUNK)
        for file in range(-(-self.left // FILE_ROWS)):
            rows = min(FILE_ROWS, self.left - file * FILE_ROWS)
            for start in range(0, rows, size):
                yield Chunk(file, start, min(start + size, rows))

    def remove(self) -> None:
        """Remove the files."""
        for file, _ in self.folder.files():
            if _OURS.search(file.path):
                file.remove()


def write_todo(images: Iterable[Image], known: IdSet, way: bytes, output: Place) -> Todo:
    """Write down which images are neither known nor named twice.

    known : ids of images that are done; the others are added.
    """
    folder = output / FOLDER
    waiting: list[Task] = []
    total, left, files = 0, 0, 0
    before = len(known)
    each = iter(images)
    while some := list(islice(each, READ_ROWS)):
        ids = ids_of(way, ((image.file, image.version) for image in some))
        places = np.flatnonzero(known.add_new(ids))
        waiting += [
            _task(digest, some[index])
            for digest, index in zip(id_bytes(ids[places]), places.tolist(), strict=True)
        ]
        total += len(some)
        left += len(places)
        while len(waiting) >= FILE_ROWS:
            _write(folder, files, waiting[:FILE_ROWS])
            del waiting[:FILE_ROWS]
            files += 1
    if waiting:
        _write(folder, files, waiting)
    return Todo(folder, min(total, before + left), left)


def read_tasks(folder: Place, file: int) -> list[Task]:
    """All tasks in one file of a to-do folder."""
    import pyarrow.parquet as pq

    with _place(folder, file).open() as opened:
        columns = pq.read_table(opened).to_pydict()
    rows = zip(columns["uri"], columns["version"], columns["row"], strict=True)
    return [
        Task(id, target, Image(uri, version, "", row))
        for id, target, (uri, version, row) in zip(columns["id"], columns["target"], rows, strict=True)
    ]


def _task(digest: bytes, image: Image) -> Task:
    """The names of results say what made them, so that none is ever another's."""
    name = image.name or f"{digest.hex()[:2]}/{stem(image.uri)}"
    return Task(digest, f"{name}.{digest.hex()[:16]}", image)


def _write(folder: Place, file: int, tasks: list[Task]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Any] = {
        "id": pa.array([task.id for task in tasks], pa.binary(ID_BYTES)),
        "target": pa.array([task.target for task in tasks], pa.string()),
        "uri": pa.array([task.image.uri for task in tasks], pa.string()),
        "version": pa.array([task.image.version for task in tasks], pa.string()),
        "row": pa.array([task.image.row for task in tasks], pa.int64()),
    }
    packed = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), packed, compression="zstd")
    _place(folder, file).write(packed.getvalue().to_pybytes())


_OURS = re.compile(r"/[0-9]{7}\.parquet$")


def _place(folder: Place, file: int) -> Place:
    return folder / f"{file:07d}.parquet"
