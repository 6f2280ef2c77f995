"""The `anyscene` command: its groups of commands, and how errors reach the user.

Each command module offers `register(app)`. Modules import numba, onnxruntime and their like inside the
commands, never at the top, so that `anyscene --help` answers at once.
"""

from __future__ import annotations

import importlib
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

import anyscene
from anyscene.errors import AnysceneError

COMMAND_MODULES = (
    "data",
    "bench",
    "demo",
    "train",
    "train_backbone",
    "info",
    "models",
    "calibrate",
    "tree",
    "label",
    "watch",
    "explain",
    "evaluate",
    "compare",
)

app = typer.Typer(
    name="anyscene",
    help="Label every pixel of a scene within whatever time you have.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"anyscene {anyscene.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    pass


for _name in COMMAND_MODULES:
    importlib.import_module(f"anyscene.apps.{_name}").register(app)


def _with_bare_json(arguments: list[str]) -> list[str]:
    """A `--json` without a file prints to stdout; Typer has no options whose value may be left out."""
    spelled = []
    for argument, following in zip(arguments, [*arguments[1:], "--"], strict=True):
        spelled.append(argument)
        if argument == "--json" and following.startswith("-") and following != "-":
            spelled.append("-")
    return spelled


def main() -> None:
    """Run the command line.

    Exit codes: 0 fine; 1 the command found problems or missed a bar; 2 it could not run. An error made for
    the user is one sentence; any other is a defect of ours and shows its traceback.
    """
    try:
        app(_with_bare_json(sys.argv[1:]))
    except AnysceneError as error:
        # As Text, because brackets in a file name are not markup.
        message = Text.assemble(("error: ", "bold red"), str(error))
        Console(stderr=True).print(message, highlight=False, soft_wrap=True)
        sys.exit(2)
    except Exception:
        # The interpreter's own exit code for a crash, 1, would read as "found problems".
        sys.excepthook(*sys.exc_info())
        sys.exit(2)
