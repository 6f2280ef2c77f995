"""The `anyscene` command and its groups of commands.

Each command module offers `register(app)`. Modules import numba, onnxruntime and their like inside the
commands, never at the top, so that `anyscene --help` answers at once.
"""

from __future__ import annotations

import importlib
from typing import Annotated

import typer

import anyscene
from anyscene.apps.console import run_commands

COMMAND_MODULES = (
    "data",
    "demo",
    "train",
    "train_backbone",
    "info",
    "models",
    "calibrate",
    "tree",
    "label",
    "live",
    "watch",
    "explain",
    "evaluate",
    "compare",
    "reproduce",
    "serve",
)

app = typer.Typer(
    name="anyscene",
    help="Label every pixel of a scene within whatever time you have.",
    no_args_is_help=True,
    add_completion=True,
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


def main() -> None:
    """Run the command line."""
    run_commands(app)
