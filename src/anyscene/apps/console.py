"""What commands share at the terminal: progress bars, tables, `--json`, and how errors reach the user.

Progress goes to stderr and only to a terminal, so that pipes and logs hold results alone. Text that comes
from outside (file names, class names) is printed as it is, but for characters that command a terminal:
`Screen` shows those as escapes. Brackets in it are not rich markup.
"""

from __future__ import annotations

import errno
import json
import logging
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from anyscene.apps.stopping import end_if_stopped, end_well_if_stopped, stands_at, stop_on_signals
from anyscene.errors import AnysceneError
from anyscene.files import write_atomically
from anyscene.marks import marked, refuse_to_overwrite

Item = TypeVar("Item")

DISK_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
"""What is no defect of ours, wherever it is met."""

JsonOption = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Also write the result as JSON; without FILE, or with -, to stdout, alone.",
    ),
]
"""The `--json` option as every command has it; hand its value to `emit_json`."""


_COMMANDS = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Characters that command a terminal or turn text around, and stand-ins for bytes that are no text."""


def printable(text: str) -> str:
    """Return text that any terminal shows: characters that would command it become escapes; lines stay."""
    return _COMMANDS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class Screen(Console):
    """A console that shows text from outside without obeying it."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield what is to be printed; what the console itself commands the terminal stays as it is."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))


def console(json_target: str | None = None) -> Console:
    """Where people read results: stdout, or stderr when stdout is kept for JSON."""
    return Screen(stderr=json_target == "-", highlight=False)


def check_outputs(
    json_target: str | None, *outputs: str | Path | None, inputs: Iterable[str | Path | None] = ()
) -> None:
    """Refuse, before any work, to write over what a command reads and over files that anyscene did not write.

    json_target: what `--json` says. Outputs and inputs may be None where an option is left out.
    """
    targets = [None if json_target == "-" else json_target, *outputs]
    refuse_to_overwrite(filter(None, targets), filter(None, inputs))


def emit_json(document: Mapping[str, Any], target: str | None) -> None:
    """Write a document where `--json` says: nowhere, to stdout (-), or to a file."""
    if target is None:
        return
    if target != "-":
        document = marked(document)
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    # Names of files need not be text, nor harmless to a terminal: such characters are escaped as JSON does.
    text = _COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    if target == "-":
        sys.stdout.write(text)
    else:
        with write_atomically(Path(target)) as file:
            file.write(text.encode())


def track(items: Iterable[Item], description: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items behind a progress bar on stderr; no bar where stderr is not a terminal.

    total: how many there are, for items that cannot say so themselves.
    """
    screen = Screen(stderr=True)
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
    return Screen(stderr=True).status(Text(description))


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
        screen = Screen(stderr=True)
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
        stands_at(f"{done} of {total} ({stage})")
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(stage, total=total, note=note)
        self._bars.update(self._tasks[stage], completed=done, total=total, note=note)  # type: ignore[arg-type]
        if not self._terminal and (done == total or stage.startswith(("policy", "sequence", "static"))):
            told = f"{stage} {done}/{total}: {note}" if note else f"{stage} {done}/{total}"
            typer.echo(printable(told), err=True)


def run_commands(app: typer.Typer) -> None:
    """Run a command line on the arguments of this process.

    Exit codes: 0 fine; 1 the command found problems or missed a bar; 2 it could not run. An error made for
    the user is one sentence; any other is a defect of ours and shows its traceback. A signal that stops the
    command gives 128 and its number: 130 for Ctrl-C.
    """
    stop_on_signals()
    logging.getLogger("anyscene").addHandler(_Notes(logging.WARNING))
    try:
        app(_with_bare_json(sys.argv[1:]))
    except SystemExit as ended:
        if ended.code:  # commands that are meant to be stopped end well
            end_if_stopped()
        end_well_if_stopped()
        raise
    except KeyboardInterrupt:
        end_if_stopped()
        raise
    except AnysceneError as error:
        end_if_stopped()  # it may come of the stop
        _tell(str(error))
        sys.exit(2)
    except Exception as error:
        end_if_stopped()  # a library may have made another error of the stop
        if isinstance(error, OSError) and error.errno in DISK_FAULTS:  # of a library, such as numba's cache
            place = f" at {error.filename}" if error.filename else ""
            _tell(f"a file cannot be written{place}: {error.strerror}; make room, and run the command again")
            sys.exit(2)
        # The interpreter's own exit code for a crash, 1, would read as "found problems".
        sys.excepthook(*sys.exc_info())
        sys.exit(2)


def _tell(message: str) -> None:
    """Show an error; as Text, because brackets in a file name are not markup."""
    Screen(stderr=True).print(
        Text.assemble(("error: ", "bold red"), message), highlight=False, soft_wrap=True
    )


class _Notes(logging.Handler):
    """Shows what the library logs as one sentence a line on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        """Show a record."""
        Screen(stderr=True).print(
            Text.assemble(("note: ", "bold"), record.getMessage()), highlight=False, soft_wrap=True
        )


def _with_bare_json(arguments: list[str]) -> list[str]:
    """A `--json` without a file prints to stdout; Typer has no options whose value may be left out."""
    spelled = []
    for argument, following in pairwise([*arguments, "--"]):
        spelled.append(argument)
        if argument == "--json" and following.startswith("-") and following != "-":
            spelled.append("-")
    return spelled
