"""What commands share at the terminal: progress bars, tables, and `--json`.

Progress goes to stderr and only to a terminal, so that pipes and logs hold results alone. Text that comes
from outside (file names, class names) is printed as it is: brackets in it are not rich markup.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from anyscene.files import write_atomically

Item = TypeVar("Item")

JsonOption = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Also write the result as JSON; without FILE, or with -, to stdout, alone.",
    ),
]
"""The `--json` option as every command has it; hand its value to `emit_json`."""


def console(json_target: str | None = None) -> Console:
    """Where people read results: stdout, or stderr when stdout is kept for JSON."""
    return Console(stderr=json_target == "-", highlight=False)


def emit_json(document: Any, target: str | None) -> None:
    """Write a document where `--json` says: nowhere, to stdout (-), or to a file."""
    if target is None:
        return
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    # Names of files need not be UTF-8; Python's stand-ins for such bytes are escaped as JSON escapes them.
    text = text.encode(errors="backslashreplace").decode()
    if target == "-":
        sys.stdout.write(text)
    else:
        with write_atomically(Path(target)) as file:
            file.write(text.encode())


def track(items: Iterable[Item], description: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items behind a progress bar on stderr; no bar where stderr is not a terminal.

    total: how many there are, for items that cannot say so themselves.
    """
    screen = Console(stderr=True)
    if total is None and isinstance(items, Sequence):
        total = len(items)
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=screen,
        transient=True,
        disable=not screen.is_terminal,
    ) as progress:
        yield from progress.track(items, total=total, description=description)


def busy(description: str) -> AbstractContextManager[object]:
    """A spinner on stderr while the block runs, for work that cannot say how far it is."""
    return Console(stderr=True).status(Text(description))


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A table whose first column is text and whose others line up as numbers."""
    made = Table(title=Text(title), title_justify="left", title_style="bold")
    for index, column in enumerate(columns):
        made.add_column(Text(column), justify="right" if index else "left", overflow="fold")
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    return made


class Stages:
    """One progress bar a stage on a terminal; a line a stage where there is none."""

    def __init__(self) -> None:
        screen = Console(stderr=True)
        self._terminal = screen.is_terminal
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=screen,
            disable=not self._terminal,
        )
        self._tasks: dict[str, object] = {}

    def __enter__(self) -> Stages:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def __call__(self, stage: str, done: int, total: int, note: str) -> None:
        """Show where a stage stands."""
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(stage, total=total, note=note)
        self._bars.update(self._tasks[stage], completed=done, total=total, note=note)  # type: ignore[arg-type]
        if not self._terminal and (done == total or stage.startswith(("policy", "sequence", "static"))):
            typer.echo(f"{stage} {done}/{total}: {note}", err=True)
