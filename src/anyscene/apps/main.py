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

import anyscene
from anyscene.errors import AnysceneError

COMMAND_MODULES = ("data", "bench", "demo")

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
        bool, typer.Option("--version", help="Print the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass


for _name in COMMAND_MODULES:
    importlib.import_module(f"anyscene.apps.{_name}").register(app)


def main() -> None:
    """Run the command line; an error made for the user is one sentence and exit code 2."""
    try:
        app()
    except AnysceneError as error:
        Console(stderr=True).print(f"[bold red]error:[/] {error}", highlight=False, soft_wrap=True)
        sys.exit(2)
