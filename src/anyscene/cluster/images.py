"""The images of a job, wherever they are named: folders, files, patterns, lists and Parquet tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from anyscene.cluster.places import Place, place, split_pattern
from anyscene.errors import ConfigError, DataError

if TYPE_CHECKING:
    import pyarrow

TABLE = ".parquet"
NO_ROW = -1


class Image(NamedTuple):
    """An image of a job.

    uri : of its file, or of the table that holds its bytes. version : changes when the file does; empty where
    nobody looked. name : what its results are called, with folders; empty where tables leave that open.
    row : in the table; NO_ROW for a file.
    """

    uri: str
    version: str
    name: str
    row: int = NO_ROW

    @property
    def file(self) -> str:
        """What names the image in records."""
        return self.uri if self.row == NO_ROW else f"{self.uri}#{self.row}"


@dataclass
class Listing:
    """All images that some texts stand for. Whatever lies in `output` is a result, not an image.

    column : of tables, where they have several that could hold images.
    passed_over : files in folders that are not named as pictures; known when all were iterated over.
    """

    named: Sequence[str]
    listed: Sequence[str]
    output: Place
    column: str | None = None
    passed_over: int = field(default=0, init=False)

    def __iter__(self) -> Iterator[Image]:
        self.passed_over = 0
        for text in self.named:
            yield from self._named(text)
        for text in self.listed:
            yield from self._listed(text)

    def check(self) -> None:
        """Raise unless all that is named by itself is there and can be read."""
        for text in self.named:
            if next(self._named(text), None) is None:
                raise ConfigError(f"there is no picture in {text}; name some")
        self.passed_over = 0

    def _named(self, text: str) -> Iterator[Image]:
        base, pattern = split_pattern(text)
        if pattern is not None and place(text).info().is_file:
            base, pattern = text, None
        where = place(base)
        info = where.info()
        if info.is_file:
            yield from self._file(where, info, stem(where.path))
        elif info.type.name == "Directory":
            found = (
                (file, about, file.path[len(where.path) :].lstrip("/"))
                for file, about in where.files(recursive=True)
                if not file.path.startswith(f"{self.output.path}/")
            )
            for file, about, inside in found:
                if pattern is not None and not pattern.fullmatch(inside):
                    continue
                if not _is_picture(inside) and not inside.endswith(TABLE):
                    self.passed_over += 1
                    continue
                own = where.path.rstrip("/").rpartition("/")[2]
                yield from self._file(file, about, f"{own}/{stem(inside, folders=True)}")
        else:
            raise DataError(f"{text}: there is no such file or folder; check the path")

    def _listed(self, text: str) -> Iterator[Image]:
        """What a line of a list stands for; a file that is not there fails when it is its turn."""
        where = place(text)
        info = where.info()
        if info.type.name == "Directory":
            yield from self._named(text)
        elif info.is_file:
            yield from self._file(where, info, stem(where.path))
        else:
            yield Image(where.uri, "", stem(where.path))

    def _file(self, file: Place, info: Any, name: str) -> Iterator[Image]:
        version = f"{info.size}-{info.mtime_ns}"
        if file.path.endswith(TABLE):
            yield from _in_table(file, version, self.column)
        else:
            yield Image(file.uri, version, name)


def _in_table(file: Place, version: str, wanted: str | None) -> Iterator[Image]:
    """The images of a table: those that its URIs name, or those whose bytes it holds.

    A column "version" says when the file behind a URI has changed; none is looked at beforehand.
    """
    table = open_table(file)
    column, holds_bytes = image_column(file, table, wanted)
    if holds_bytes:
        own = stem(file.path)
        for row in range(table.metadata.num_rows):
            yield Image(file.uri, version, f"{own}/{row:09d}", row)
        return
    columns = [column, *(["version"] if "version" in table.schema_arrow.names else [])]
    with told_as_damaged(file):
        for batch in table.iter_batches(columns=columns):
            versions = batch["version"].to_pylist() if len(columns) > 1 else [""] * batch.num_rows
            for uri, own in zip(batch[column].to_pylist(), versions, strict=True):
                if uri:
                    yield Image(uri if "://" in uri else place(uri).uri, str(own), "")


def open_table(file: Place) -> Any:
    """Open a Parquet file; what it holds is read, and found damaged, later on."""
    import pyarrow.parquet as pq

    with told_as_damaged(file):
        return pq.ParquetFile(file.open())


@contextmanager
def told_as_damaged(file: Place) -> Iterator[None]:
    """Make what reading a table raises one sentence."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{file.uri} is damaged or not a Parquet file; write it anew") from error


def image_column(file: Place, table: Any, wanted: str | None) -> tuple[str, bool]:
    """The column of a table that holds URIs or bytes of images, and whether it holds bytes."""
    import pyarrow.types as kinds

    schema: pyarrow.Schema = table.schema_arrow
    texts = [one.name for one in schema if kinds.is_string(one.type) or kinds.is_large_string(one.type)]
    binaries = [one.name for one in schema if kinds.is_binary(one.type) or kinds.is_large_binary(one.type)]
    fitting = [name for name in (*binaries, *texts) if name != "version"]
    if wanted is None and len(fitting) == 1:
        wanted = fitting[0]
    if wanted is None:
        raise ConfigError(
            f"{file.uri} has {len(fitting)} columns of texts or bytes ({', '.join(fitting) or 'none'}); "
            "--column says which one holds the images or their URIs"
        )
    if wanted not in fitting:
        raise ConfigError(
            f"{file.uri} has no column '{wanted}' of URIs (text) or of images (bytes); "
            f"its columns are {', '.join(f'{one.name} ({one.type})' for one in schema)}"
        )
    return wanted, wanted in binaries


def _is_picture(name: str) -> bool:
    from anyscene.data.images import IMAGE_SUFFIXES

    return f".{name.rpartition('.')[2].lower()}" in IMAGE_SUFFIXES


def stem(path: str, folders: bool = False) -> str:
    """A path without its suffix and, unless they are asked for, without its folders."""
    path = path if folders else path.rpartition("/")[2]
    folder, _, name = path.rpartition("/")
    short = name.rpartition(".")[0] or name
    return f"{folder}/{short}" if folder else short
