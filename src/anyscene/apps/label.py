"""`anyscene label`: label pictures, folders and videos, each image within a budget."""

from __future__ import annotations

from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from anyscene.apps.console import JsonOption, busy, console, emit_json, table, track

if TYPE_CHECKING:
    from anyscene.apps.label_jobs import Done
    from anyscene.apps.sources import Found

ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME|FILE",
        help="One that ships (`anyscene models`) or a .anyscene file; none: the one for outdoor photos.",
    ),
]
BudgetOption = Annotated[
    str | None,
    typer.Option(
        "--budget", metavar="TIME", help="Time for each image, such as 20ms or 1.5s; none: no limit."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(label)


def label(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATHS...", help="Pictures, folders, videos, or patterns like 'a/*.jpg'."),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the results.")] = Path("labels"),
    model: ModelOption = None,
    budget: BudgetOption = None,
    until: Annotated[
        float | None, typer.Option(help="Stop an image when its mean confidence is this high (0 to 1).")
    ] = None,
    overlay: Annotated[
        bool, typer.Option("--overlay", help="Also write the labels over the picture.")
    ] = False,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="Also write how sure we are, white is sure.")
    ] = False,
    trace: Annotated[bool, typer.Option("--trace", help="Also write what was done, as JSON.")] = False,
    carry: Annotated[
        bool, typer.Option("--carry", help="In videos, let each frame start from what the last one showed.")
    ] = False,
    workers: Annotated[int, typer.Option(min=1, help="Processes that label side by side.")] = 1,
    redo: Annotated[bool, typer.Option("--redo", help="Label again what was labelled before.")] = False,
    json: JsonOption = None,
) -> None:
    """Label every pixel of pictures and videos, each image within a budget.

    Results keep the names and folders of their sources: PNGs of class ids. A run that was stopped goes on
    where it was; a file that cannot be read is named and passed over.

    Exit code: 0 if everything was labelled, 1 if something was not, 2 if nothing could be done.
    """
    from anyscene.apps.label_jobs import Settings, check_settings, run_jobs
    from anyscene.apps.sources import find_sources
    from anyscene.engine.clock import parse_budget
    from anyscene.engine.loading import find_model
    from anyscene.errors import ConfigError

    parse_budget(budget)
    settings = Settings(
        model=str(find_model(model).resolve()),
        budget=budget,
        until=until,
        extras=tuple(
            name
            for name, wanted in (("overlay", overlay), ("confidence", confidence), ("trace", trace))
            if wanted
        ),
        carry=carry,
        redo=redo,
    )
    found = find_sources(paths, output)
    if not found.sources and not found.missing:
        raise ConfigError(f"there is no picture and no video in {', '.join(paths)}; name some")
    check_settings(output, settings)
    with busy("getting ready"):  # a first use measures this machine
        jobs = run_jobs(found.sources, settings, workers)
    done = list(track(jobs, "labeling", total=len(found.sources)))
    _report(done, found, output, json)
    if found.missing or any(item.problem for item in done):
        raise typer.Exit(1)


def _report(done: list[Done], found: Found, output: Path, json: str | None) -> None:
    """Show what was done, and what was not and why."""
    problems = [(str(item.source.path), item.problem) for item in done if item.problem]
    problems += [(text, f"{text}: there is no such file or folder; check the path") for text in found.missing]
    costs = sorted(cost for item in done for cost in item.costs)
    deadlines = [met for item in done for met in item.deadlines_met if met is not None]
    summary = {
        "labelled": len(costs),
        "labelled_before": sum(item.kept for item in done),
        "failed": len(problems),
        "passed_over": found.passed_over,
        "mean_ms": mean(costs) if costs else None,
        "median_ms": costs[len(costs) // 2] if costs else None,
        "largest_ms": costs[-1] if costs else None,
        "deadlines_met": mean(deadlines) if deadlines else None,
    }
    names = {
        "labelled": "images labelled",
        "labelled_before": "labelled before",
        "failed": "could not be labelled",
        "passed_over": "not a picture or video by name",
        "mean_ms": "mean time, ms",
        "median_ms": "median time, ms",
        "largest_ms": "longest time, ms",
        "deadlines_met": "deadlines met",
    }
    rows = [
        (names[key], value if isinstance(value, int) else f"{value:.1%}" if "met" in key else f"{value:.1f}")
        for key, value in summary.items()
        if value is not None
    ]
    console(json).print(table(f"results in {output}", ("what", "value"), rows))
    for _, problem in problems:
        console("-").print(Text.assemble(("not labelled: ", "bold red"), str(problem)), soft_wrap=True)
    emit_json({**summary, "problems": [{"path": path, "problem": why} for path, why in problems]}, json)
