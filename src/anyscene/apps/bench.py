"""`anyscene bench`: measure this machine against the bars that the project sets itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from anyscene.apps.console import JsonOption, busy, console, emit_json, table
from anyscene.errors import ConfigError

if TYPE_CHECKING:
    from anyscene.benchmarks.figures import Figure


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(bench)


def bench(
    name: Annotated[str | None, typer.Argument(help="Which bench to run; none lists them.")] = None,
    data: Annotated[
        str | None, typer.Option(metavar="SPEC", help="Data set to measure on, such as camvid:PATH.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="Part of the data set.")] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", "--backbone", metavar="FILE", help="Model or backbone to measure; default: what ships."
        ),
    ] = None,
    report: Annotated[
        list[str] | None,
        typer.Option("--report", metavar="NAME=FOLDER", help="A report of `anyscene evaluate` to judge by."),
    ] = None,
    json: JsonOption = None,
) -> None:
    """Run a benchmark and hold it to its bars; beside a JSON file some also draw a picture.

    Exit code: 0 if all bars hold, 1 if one does not, 2 if the benchmark could not run.
    """
    from anyscene import benchmarks
    from anyscene.benchmarks.figures import Request

    if name is None:
        for known, what in benchmarks.BENCHES.items():
            console(json).print(f"{known:12} {what}", markup=False, soft_wrap=True)
        emit_json(benchmarks.BENCHES, json)
        return
    with busy(f"bench {name}"):
        found = benchmarks.run(name, Request(data, split, model, _reports(report or [])))
    rows = [_row(figure) for figure in found.figures]
    console(json).print(table(f"bench {name}", ("figure", "value", "bar", "holds"), rows))
    emit_json(found.to_json(), json)
    if json is not None and json != "-":
        picture = Path(json).with_suffix(".svg")
        if benchmarks.draw(found, picture):
            console(json).print(f"drawn in {picture}", markup=False, soft_wrap=True)
    raise typer.Exit(found.exit_code)


def _reports(given: list[str]) -> dict[str, str]:
    for text in given:
        if "=" not in text:
            raise ConfigError(f"--report is NAME=FOLDER, such as camvid=report, not '{text}'")
    return dict(text.split("=", 1) for text in given)


def _row(figure: Figure) -> tuple[object, ...]:
    bar = f"{figure.bar.comparison} {_number(figure.bar.value, figure.unit)}" if figure.bar else "-"
    if figure.value is None:
        return figure.name, "-", bar, Text(f"skipped: {figure.skipped}", style="yellow")
    verdicts = {
        True: Text("yes", style="green"),
        False: Text("NO", style="bold red"),
        None: Text("reported", style="dim"),
    }
    return figure.name, _number(figure.value, figure.unit), bar, verdicts[figure.holds]


def _number(value: float, unit: str) -> str:
    return f"{value:.4g} {unit}".rstrip()
