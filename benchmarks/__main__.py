"""`python -m benchmarks`: measure this machine against the bars that the project sets itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

import benchmarks
from anyscene.apps.console import JsonOption, busy, check_outputs, console, emit_json, run_commands, table
from anyscene.errors import ConfigError
from benchmarks.figures import Figure, Request

app = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_show_locals=False)


@app.command()
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
    drawn = None if json in (None, "-") else Path(json).with_suffix(".svg")
    check_outputs(json, drawn, inputs=[model])
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
    if drawn is not None and benchmarks.draw(found, drawn):
        console(json).print(f"drawn in {drawn}", markup=False, soft_wrap=True)
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


if __name__ == "__main__":
    run_commands(app)
