"""The manifest: what became of each image of a job, in a folder of Parquet files beside the results.

While a job runs, small files (`part-…`) are added. At the end they are merged into large ones (`whole-…`).
A merged file names those that it replaces: should a job be killed before it has removed them, nobody reads
them any more. One job at a time adds to a manifest, and no image is ever in it twice.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from anyscene.cluster.ids import ID_BYTES, IdSet
from anyscene.cluster.places import Place
from anyscene.errors import ConfigError
from anyscene.marks import MARK
from anyscene.outputs.records import Record

if TYPE_CHECKING:
    import pyarrow

FOLDER = "manifest"
FULL_ROWS = 500_000
"""A merged file of so many records is not merged again."""

READ_ROWS = 65_536
REPLACES = b"replaces"


def manifest_schema() -> pyarrow.Schema:
    """The columns: those of a `Record`, and id, version, cpu_ms and node."""
    import pyarrow as pa

    return pa.schema(
        [
            ("id", pa.binary(ID_BYTES)),
            ("file", pa.string()),
            ("version", pa.string()),
            ("status", pa.string()),
            ("result", pa.string()),
            ("width", pa.int32()),
            ("height", pa.int32()),
            ("budget_ms", pa.float32()),
            ("ms", pa.float32()),
            ("cpu_ms", pa.float32()),
            ("deadline_met", pa.bool_()),
            ("is_prior", pa.bool_()),
            ("plan", pa.list_(pa.string())),
            ("shares", pa.map_(pa.string(), pa.float32())),
            ("confidence", pa.float32()),
            ("familiarity", pa.float32()),
            ("error", pa.string()),
            ("node", pa.string()),
        ],
        {b"comment": MARK.encode()},
    )


def manifest_rows(records: Sequence[tuple[Record, Mapping[str, Any]]]) -> pyarrow.Table:
    """Records, each with its id, version, cpu_ms and node, as rows."""
    import pyarrow as pa

    rows = []
    for record, more in records:
        fields = record.to_dict() | dict(more)
        fields["shares"] = list(record.shares.items())
        fields["file"], fields["error"] = _text(record.file), _text(record.error)
        rows.append(fields)
    return pa.Table.from_pylist(rows, manifest_schema())


def _text(text: str | None) -> str | None:
    """Text without the stand-ins for bytes that are no text, which Parquet cannot hold."""
    return text if text is None else text.encode(errors="backslashreplace").decode()


class Manifest:
    """The manifest in the folder of a job's results."""

    def __init__(self, output: Place) -> None:
        self.place = output / FOLDER

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[pyarrow.Table]:
        """All records, some at a time."""
        for file in self._files():
            yield from self._read(file, columns)

    def ids(self) -> IdSet:
        """The ids of all images that are recorded."""
        known = IdSet()
        found = []
        for table in self.tables(["id"]):
            if table.num_rows:
                values = table["id"].combine_chunks()
                start = values.offset * ID_BYTES
                found.append(
                    np.frombuffer(values.buffers()[1], f"S{ID_BYTES}", table.num_rows, offset=start).copy()
                )
        if found:
            known.add_new(np.concatenate(found))
        return known

    def add(self, table: pyarrow.Table) -> None:
        """Add records, at once and for good."""
        if table.num_rows:
            self._write(f"part-{time.time_ns():020d}-{secrets.token_hex(4)}.parquet", table)

    def compact(self) -> None:
        """Merge small files."""
        small = [file for file in self._files() if not self._is_full(file)]
        if len(small) > 1:
            self._merge(small)

    def forget_failed(self) -> None:
        """Take failed images out, so that they are tried again."""
        import pyarrow.compute as pc

        for file in self._files():
            statuses = [table["status"] for table in self._read(file, ["status"])]
            if any(pc.any(pc.equal(some, "failed")).as_py() for some in statuses):
                self._merge([file], lambda table: table.filter(pc.not_equal(table["status"], "failed")))

    def clear(self) -> None:
        """Forget all images."""
        for file in self._all():
            file.remove()

    def _all(self) -> list[Place]:
        return [file for file, _ in self.place.files() if file.path.endswith(".parquet")]

    def _files(self) -> list[Place]:
        """The files that count; those that were replaced and not removed yet are removed now."""
        files = self._all()
        replaced: set[str] = set()
        for file in files:
            if _name(file).startswith("whole-"):
                replaced |= self._replaced_by(file)
        for file in files:
            if _name(file) in replaced:
                file.remove()
        return [file for file in files if _name(file) not in replaced]

    def _replaced_by(self, file: Place) -> set[str]:
        try:
            return set(json.loads(self._opened(file).schema_arrow.metadata[REPLACES]))
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged(file) from error

    def _is_full(self, file: Place) -> bool:
        return _name(file).startswith("whole-") and self._opened(file).metadata.num_rows >= FULL_ROWS

    def _merge(self, files: Sequence[Place], keep: Callable[[Any], Any] = lambda table: table) -> None:
        """Write files of full size in place of those given. keep : which of their records stay."""
        import pyarrow as pa

        schema = manifest_schema()
        waiting: list[pyarrow.Table] = []
        merged: list[str] = []
        for file in files:
            merged.append(_name(file))
            waiting += [keep(table) for table in self._read(file)]
            if sum(table.num_rows for table in waiting) >= FULL_ROWS or file is files[-1]:
                told = {**(schema.metadata or {}), REPLACES: json.dumps(merged).encode()}
                whole = pa.concat_tables([schema.empty_table(), *waiting]).replace_schema_metadata(told)
                self._write(f"whole-{time.time_ns():020d}-{secrets.token_hex(4)}.parquet", whole)
                waiting, merged = [], []
        self._files()  # removes what was replaced

    def _write(self, name: str, table: pyarrow.Table) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        packed = pa.BufferOutputStream()
        options: dict[str, Any] = {"compression": "zstd", "row_group_size": READ_ROWS}
        pq.write_table(table, packed, **options, write_page_checksum=True)
        (self.place / name).write(packed.getvalue().to_pybytes())

    def _read(self, file: Place, columns: Sequence[str] | None = None) -> Iterator[pyarrow.Table]:
        import pyarrow as pa

        opened = self._opened(file)
        try:
            for group in range(opened.num_row_groups):
                yield opened.read_row_group(group, columns)
        except (pa.ArrowException, OSError) as error:
            raise _damaged(file) from error

    def _opened(self, file: Place) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            opened = pq.ParquetFile(file.open(), page_checksum_verification=True)
        except (pa.ArrowException, OSError) as error:
            raise _damaged(file) from error
        if not opened.schema_arrow.equals(manifest_schema()):
            raise _damaged(file)
        return opened


def _name(file: Place) -> str:
    return file.path.rpartition("/")[2]


def _damaged(file: Place) -> ConfigError:
    return ConfigError(
        f"{file.uri} is damaged or no manifest; remove it, and the same command labels its images again"
    )
