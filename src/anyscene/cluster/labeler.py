"""`Labeler`: a model that is loaded once and labels batches, in any pipeline."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.cluster.images import NO_ROW, Image, image_column, open_table, told_as_damaged
from anyscene.cluster.places import Place, place
from anyscene.data.given import as_rgb
from anyscene.data.images import decode_image
from anyscene.engine.clock import parse_budget
from anyscene.engine.loading import load
from anyscene.errors import AnysceneError, ConfigError, ImageError
from anyscene.outputs.records import Record, record_of
from anyscene.outputs.result_files import IDS, needs_confidence, result_files


class OutputError(ConfigError):
    """Results cannot be written: what fails for one image will fail for all."""


@dataclass(frozen=True)
class Looks:
    """How images are labelled, and what is written of each.

    extras : what is written beside the ids, keys of `SUFFIXES`. opacity : of labels over the picture.
    """

    until: float | None = None
    extras: tuple[str, ...] = ()
    opacity: float = 0.5


class Labeler:
    """Labels batches of images: made once in each process, then called.

    >>> labelled = dataset.map_batches(Labeler, fn_constructor_kwargs={"model": "camvid", "budget": "20ms"})

    It needs no Ray: whatever calls it with a dictionary of columns will do.

    model : a shipped one's name or a file. budget : for each image, such as "20ms". column : of the batch,
    with URIs (text), bytes of image files, or images as arrays. output : a folder, which may be a URI:
    results of URIs go there, named by them, and the batch gets a column "result". Without it, the batch gets
    a column "labels" of PNGs of class ids.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        budget: str | float | None = None,
        column: str | None = "uri",
        output: str | None = None,
        looks: Looks | None = None,
    ) -> None:
        self._engine = load(model)
        self._budget_ms = None if budget is None else parse_budget(budget)
        self._column = column
        self._output = None if output is None else place(output)
        self._looks = looks or Looks()
        self._row_group = _RowGroup()

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Label a batch; return its other columns, what became of each image, and its labels."""
        column = self._column or "uri"
        if column not in batch:
            raise ConfigError(
                f"the batch has no column '{column}'; it has {', '.join(batch)}: name one by column="
            )
        given = list(batch[column])
        kept = {name: values for name, values in batch.items() if name != column}
        told, pictures = [], []
        for index, one in enumerate(given):
            file = one if isinstance(one, str) else f"{column} {index}"
            target = file.partition("://")[2] if isinstance(one, str) else None
            record, files = self.label(one, file, target, self._budget_ms)
            told.append(record)
            pictures.append(files.get(IDS))
        columns: dict[str, Any] = {
            "file": [record.file for record in told],
            "status": [record.status for record in told],
            "ms": [record.ms for record in told],
            "error": [record.error for record in told],
        }
        if self._output is None:
            columns["labels"] = pictures
        else:
            columns["result"] = [record.result for record in told]
        return kept | columns

    def label(
        self, given: Any, file: str, target: str | None, budget_ms: float | None
    ) -> tuple[Record, dict[str, bytes]]:
        """Label one image; whatever is wrong with it is told, not raised.

        given : a URI, the bytes of a file, an array, or an `Image` of a job. file : its name in the record.
        target : inside the output, without a suffix. Returns the files as well, by how their names end.
        """
        extras = self._looks.extras
        try:
            image = self._read(given, file)
            labeling = self._engine.label(
                image, budget_ms, until=self._looks.until, confidence=needs_confidence(extras) or None
            )
            if labeling.familiarity is None:  # not known under a deadline, and not a part of it
                labeling = replace(labeling, familiarity=self._engine.familiarity(image))
            files = dict(result_files(labeling, image, extras, self._looks.opacity))
        except (AnysceneError, OSError) as error:
            text = str(error).replace("the picture", file)
            return Record(file, "failed", error=text if file in text else f"{file}: {text}"), {}
        result = None
        if self._output is not None and target is not None:
            result = self._write(self._output, target, files)
        return record_of(file, None, result, labeling, budget_ms), files

    def _read(self, given: Any, file: str) -> NDArray[np.uint8]:
        if isinstance(given, Image):
            given = given.uri if given.row == NO_ROW else self._row_group.read(given, self._column)
        if isinstance(given, str):
            given = place(given).read()
        if isinstance(given, bytes):
            if not given:
                raise ImageError(f"{file}: the file is empty; copy or download it again")
            return decode_image(given)
        return as_rgb(np.asarray(given))

    def _write(self, output: Place, target: str, files: Mapping[str, bytes]) -> str:
        try:
            for suffix, data in files.items():
                (output / f"{target}{suffix}").write(data)
        except ConfigError as error:
            raise OutputError(f"{error}; the same command goes on") from error
        return (output / f"{target}{IDS}").uri


class _RowGroup:
    """The rows of a table that were read last: neighbours are asked for one after the other."""

    def __init__(self) -> None:
        self._uri, self._first = "", 0
        self._values: Sequence[Any] = ()

    def read(self, image: Image, column: str | None) -> bytes:
        """The bytes of an image."""
        if image.uri != self._uri or not 0 <= image.row - self._first < len(self._values):
            self._fill(image, column)
        found = self._values[image.row - self._first].as_py()
        if found is None:
            raise ImageError(f"{image.file}: there is no image in this row; leave it out")
        return bytes(found)

    def _fill(self, image: Image, column: str | None) -> None:
        file = place(image.uri)
        table = open_table(file)
        name, _ = image_column(file, table, column)
        first = 0
        for group in range(table.num_row_groups):
            rows = table.metadata.row_group(group).num_rows
            if image.row < first + rows:
                with told_as_damaged(file):
                    self._values = table.read_row_group(group, [name])[name].combine_chunks()
                self._uri, self._first = image.uri, first
                return
            first += rows
        raise ImageError(f"{image.file}: the table has no such row any more; run the job anew")


def node_name() -> str:
    """The machine that this process runs on."""
    return socket.gethostname()


def cpu_ms() -> float:
    """CPU time of this process since it began."""
    return 1e3 * time.process_time()
