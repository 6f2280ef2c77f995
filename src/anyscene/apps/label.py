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

ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="auto|local|ADDRESS",
        help="Work on a Ray cluster: the one that runs here, a new one on this machine, or by its address.",
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
        typer.Argument(metavar="PATHS...", help="Pictures, folders, videos, patterns like 'a/*.jpg', URIs."),
    ] = None,
    output: Annotated[str, typer.Option("-o", "--output", help="Folder for the results.")] = "labels",
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
    opacity: Annotated[
        float, typer.Option(min=0, max=1, help="Opacity of the labels over the picture.")
    ] = 0.5,
    confidence: Annotated[
        bool,
        typer.Option("--confidence", help="Also write how sure each label is, as a picture; white is sure."),
    ] = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="Also write every step of labeling, as JSON.")
    ] = False,
    live: Annotated[
        bool,
        typer.Option("--live", help="Label videos as streams: beliefs move along with the image."),
    ] = False,
    overlay_video: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --live and one video: the labels over it, as an .mp4 file."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes that label side by side: 1; on a cluster, as many as its cores."),
    ] = None,
    redo: Annotated[bool, typer.Option("--redo", help="Label again what was labelled before.")] = False,
    cluster: ClusterOption = None,
    column: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The column of Parquet files that holds URIs or images."),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="In a job with a manifest: try failed images again.")
    ] = False,
    mean_cpu: Annotated[
        str | None, typer.Option(metavar="TIME", help="Mean CPU time an image may take, such as 10ms.")
    ] = None,
    cpu_hours: Annotated[
        float | None, typer.Option(min=0, help="CPU hours that the whole job may take.")
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Only estimate the time and CPU hours, by labeling 200 images.")
    ] = False,
    json: JsonOption = None,
) -> None:
    """Label every pixel of pictures and videos, each image within a budget.

    Results keep the names and folders of their sources: PNGs of class ids, with classes.json to say what ids
    mean and records.jsonl to say what became of each image. If the command is stopped, the same command goes
    on where it was. A file that cannot be read is named, and the others are labelled.

    URIs (s3://, gs://, hdfs://, file://) and Parquet files of URIs or images make it a job with a manifest.
    So do --cluster, --plan and limits of CPU time. docs/cluster.md explains them.

    Exit code: 0 if everything was labelled, 1 if something was not, 2 if nothing could be done.
    """
    from anyscene.apps.label_jobs import Done, Settings, parted, run_jobs
    from anyscene.apps.label_many import Many, is_large, label_many
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
    listed = listed_paths(files_from) if files_from else []
    given = [*(paths or ()), *listed]
    if not given:
        raise ConfigError("nothing to label was named; name pictures, folders or videos, or use --files-from")
    many = Many(cluster, workers, column, retry_failed, total, mean_cpu, cpu_hours, plan)
    if is_large([*given, output], many):
        check_outputs(json, inputs=[settings.model, *(paths or ())])
        if not label_many(paths or [], listed, output, settings, many, documents, json):
            raise typer.Exit(1)
        return
    out, workers = Path(output), workers or 1
    found = find_sources(given, out)
    if found.missing and (overlay_video is not None or not found.sources):
        raise ConfigError(f"{', '.join(found.missing)}: there is no such file or folder; check the path")
    if overlay_video is not None and (not live or [each.is_video for each in found.sources] != [True]):
        raise ConfigError("--overlay-video goes with --live and exactly one video; name one, and add --live")
    if not found.sources:
        raise ConfigError(f"there is no picture and no video in {', '.join(given)}; name some")
    check_results(found.sources, out, settings.extras, documents)
    check_outputs(json, overlay_video, inputs=[settings.model, *(source.path for source in found.sources)])
    ways = {"model": settings.model, "budget": budget, "until": until, "total": total, "live": live}
    check_settings(out, ways, redo)
    classes = drawn_classes(load_model(path))
    write_classes(out, classes)
    todo, done = parted(found.sources, settings)
    way_on = "the same command without --redo" if redo else "the same command"
    stands_at(f"{len(done)} of {len(found.sources)}", way_on)
    allowance = Allowance(total_ms, len(todo), min(workers, len(todo))) if total else None
    labelled: list[Done] = []
    with busy("getting ready"):  # a first use measures this machine
        jobs = run_jobs(todo, settings, workers, allowance)
    for item in track(jobs, "labeling", total=len(todo)):
        labelled.append(item)
        append_records(out / RECORDS, [one for one in item.records if one.status != "kept"])
        stands_at(f"{len(done) + len(labelled)} of {len(found.sources)}", way_on)
    keep_latest(out / RECORDS)
    write_documents(out, documents, found.sources, classes)
    if not report([*done, *labelled], found, out, json):
        raise typer.Exit(1)
