"""`anyscene label`: label pictures, folders and videos, each image within a budget."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from anyscene.apps.console import JsonOption, busy, check_outputs, track
from anyscene.apps.stopping import stands_at

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


class Format(StrEnum):
    """Forms of results beside the PNGs of ids."""

    png = "png"
    coco = "coco"
    jsonl = "jsonl"
    cityscapes = "cityscapes"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(label)


def label(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATHS...", help="Pictures, folders, videos, or patterns like 'a/*.jpg'."),
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the results.")] = Path("labels"),
    model: ModelOption = None,
    budget: BudgetOption = None,
    total: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Time for the whole job, such as 60s, shared among its images."),
    ] = None,
    until: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Stop an image when its mean confidence is this high (0 to 1)."),
    ] = None,
    files_from: Annotated[
        str | None,
        typer.Option("--files-from", metavar="FILE|-", help="Also label the paths in a file, one a line."),
    ] = None,
    format: Annotated[
        list[Format] | None,
        typer.Option(help="Also write all results as COCO, JSON Lines, or Cityscapes' ids; may be repeated."),
    ] = None,
    overlay: Annotated[
        bool, typer.Option("--overlay", help="Also write the labels over the picture, with a legend.")
    ] = False,
    opacity: Annotated[float, typer.Option(min=0, max=1, help="Of the labels over the picture.")] = 0.5,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="Also write how sure we are, white is sure.")
    ] = False,
    trace: Annotated[bool, typer.Option("--trace", help="Also write what was done, as JSON.")] = False,
    live: Annotated[
        bool,
        typer.Option("--live", help="Label videos as streams: what is known moves along with the image."),
    ] = False,
    overlay_video: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --live and one video: the labels over it, as an .mp4 file."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that label side by side.")] = 1,
    redo: Annotated[bool, typer.Option("--redo", help="Label again what was labelled before.")] = False,
    json: JsonOption = None,
) -> None:
    """Label every pixel of pictures and videos, each image within a budget.

    Results keep the names and folders of their sources: PNGs of class ids, with classes.json to say what ids
    mean and records.jsonl to say what became of each image. A run that was stopped goes on where it was; a
    file that cannot be read is named and passed over.

    Exit code: 0 if everything was labelled, 1 if something was not, 2 if nothing could be done.
    """
    from anyscene.apps.label_jobs import Done, Settings, parted, run_jobs
    from anyscene.apps.label_report import report
    from anyscene.apps.results import DOCUMENTS, check_results, check_settings, write_classes, write_documents
    from anyscene.apps.sources import find_sources, listed_paths
    from anyscene.cluster.allowance import Allowance
    from anyscene.engine.clock import parse_budget
    from anyscene.engine.loading import drawn_classes, find_model
    from anyscene.errors import ConfigError
    from anyscene.modelfile import load_model
    from anyscene.outputs.records import RECORDS, append_records, keep_latest

    parse_budget(budget)
    total_ms = parse_budget(total)
    formats = [one.value for one in format or ()]
    wanted = {
        "overlay": overlay,
        "confidence": confidence,
        "trace": trace,
        "cityscapes": "cityscapes" in formats,
    }
    documents = [name for name in DOCUMENTS if name in formats]
    path = find_model(model)
    settings = Settings(
        model=str(path.resolve()),
        budget=budget,
        until=until,
        extras=tuple(name for name, asked in wanted.items() if asked),
        opacity=opacity,
        redo=redo,
        live=live,
        overlay_video=None if overlay_video is None else str(overlay_video),
    )
    given = [*(paths or ()), *(listed_paths(files_from) if files_from else ())]
    if not given:
        raise ConfigError("nothing to label was named; name pictures, folders or videos, or use --files-from")
    found = find_sources(given, output)
    if overlay_video is not None and (not live or [each.is_video for each in found.sources] != [True]):
        raise ConfigError("--overlay-video goes with --live and exactly one video; name one, and add --live")
    if not found.sources and not found.missing:
        raise ConfigError(f"there is no picture and no video in {', '.join(given)}; name some")
    check_results(found.sources, output, settings.extras, documents)
    check_outputs(json, overlay_video, inputs=[settings.model, *(source.path for source in found.sources)])
    ways = {"model": settings.model, "budget": budget, "until": until, "total": total, "live": live}
    check_settings(output, ways, redo)
    classes = drawn_classes(load_model(path))
    write_classes(output, classes)
    todo, done = parted(found.sources, settings)
    way_on = "the same command without --redo" if redo else "the same command"
    stands_at(f"{len(done)} of {len(found.sources)}", way_on)
    allowance = Allowance(total_ms, len(todo), min(workers, len(todo))) if total else None
    labelled: list[Done] = []
    with busy("getting ready"):  # a first use measures this machine
        jobs = run_jobs(todo, settings, workers, allowance)
    for item in track(jobs, "labeling", total=len(todo)):
        labelled.append(item)
        append_records(output / RECORDS, [one for one in item.records if one.status != "kept"])
        stands_at(f"{len(done) + len(labelled)} of {len(found.sources)}", way_on)
    keep_latest(output / RECORDS)
    write_documents(output, documents, found.sources, classes)
    if not report([*done, *labelled], found, output, json):
        raise typer.Exit(1)
