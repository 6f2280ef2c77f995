"""What became of each image of a job, one line of JSON each, for people's scripts and for resuming."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from anyscene.files import append_lines, write_atomically
from anyscene.labeling import Labeling
from anyscene.marks import marked

RECORDS = "records.jsonl"

Status = Literal["labelled", "kept", "failed"]


@dataclass(frozen=True)
class Record:
    """One image of a job.

    file : as it was given, or found in a folder. frame : its number within a video. status : "kept" where the
    results of an earlier run stand. result : the file of its class ids. ms : time that labeling took. plan :
    the actions taken. shares : of the pixels, by class. confidence : the mean, where it was asked for.
    familiarity : how much it is like the training images.
    """

    file: str
    status: Status
    frame: int | None = None
    result: str | None = None
    width: int | None = None
    height: int | None = None
    budget_ms: float | None = None
    ms: float | None = None
    deadline_met: bool | None = None
    is_prior: bool = False
    plan: tuple[str, ...] = ()
    shares: Mapping[str, float] = field(default_factory=dict)
    confidence: float | None = None
    familiarity: float | None = None
    error: str | None = None

    @property
    def key(self) -> tuple[str, int | None]:
        """What names the image."""
        return self.file, self.frame

    def to_dict(self) -> dict[str, Any]:
        """All of it, by name."""
        return asdict(self)


def record_of(
    file: str, frame: int | None, result: Path | str | None, labeling: Labeling, budget_ms: float | None
) -> Record:
    """The record of an image that was labelled."""
    height, width = labeling.labels.shape
    return Record(
        file=file,
        status="labelled",
        frame=frame,
        result=None if result is None else str(result),
        width=width,
        height=height,
        budget_ms=budget_ms,
        ms=labeling.cost,
        deadline_met=labeling.deadline_met,
        is_prior=labeling.is_prior,
        plan=tuple(step.action for step in labeling.trace),
        shares={name: share for name, share in labeling.shares().items() if share},
        confidence=labeling.mean_confidence,
        familiarity=labeling.familiarity,
    )


def append_records(path: Path, records: Iterable[Record]) -> None:
    """Add lines at the end of a file, at once: a job that is killed leaves what was done before."""
    text = "".join(_line(record.to_dict()) for record in records)
    if text:
        append_lines(path, text.encode())


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a file; a line that was cut short, by a machine that went down, is passed over."""
    if not path.exists():
        return
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict) and "file" in found:
                yield found


def keep_latest(path: Path) -> None:
    """Leave the last record of each image, in the order in which images were first seen."""
    latest = {(one["file"], one.get("frame")): one for one in read_records(path)}
    if latest:
        with write_atomically(path) as file:
            file.writelines(_line(one).encode() for one in latest.values())


def _line(record: Mapping[str, Any]) -> str:
    text = json.dumps(marked(record), ensure_ascii=False, allow_nan=False)
    # Names of files need not be UTF-8; Python's stand-ins for such bytes are escaped as JSON escapes them.
    return text.encode(errors="backslashreplace").decode() + "\n"
