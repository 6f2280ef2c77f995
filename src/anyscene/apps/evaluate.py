"""`anyscene evaluate`: a model and everything it is compared with, on a data set, in one report."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from anyscene.apps.console import Stages, console, table
from anyscene.apps.label import ClusterOption


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(evaluate)


def evaluate(
    data: Annotated[str, typer.Option("--data", metavar="SPEC", help="Data set, such as camvid:PATH.")],
    model: Annotated[
        str, typer.Option("--model", metavar="FILE", help="Model file, or a shipped one's name.")
    ],
    report: Annotated[Path, typer.Option("-o", "--report", metavar="FOLDER", help="Folder of the report.")],
    split: Annotated[str, typer.Option("--split", help="Part of the data set to score on.")] = "val",
    systems: Annotated[
        str,
        typer.Option(
            metavar="LIST",
            help="Of dnm,dnmd,dm,sm,rs,oracle,fsm,dcrf,him,hdcrf,cnn; default: all there can be.",
        ),
    ] = "",
    clock: Annotated[
        str, typer.Option(help="model: calibrated costs, repeatable; wall: time everything for real.")
    ] = "model",
    segmentation: Annotated[
        str,
        typer.Option(help="lazy: layers cost when grown; upfront: the whole tree first, as in the paper."),
    ] = "lazy",
    backbone: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The network that baselines look at; default: what ships."),
    ] = None,
    baselines: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where fitted baselines are kept; default: in the report."),
    ] = None,
    fit_split: Annotated[str, typer.Option(help="What the baselines are fitted to.")] = "train",
    images: Annotated[int, typer.Option(min=0, help="Score at most so many images; 0: all.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Processes to run.")] = os.cpu_count() or 1,
    cluster: ClusterOption = None,
) -> None:
    """Score every system on every image; write results.json, curves.csv, figures and a page to look at.

    If it is stopped, the same command goes on where it was.
    """
    from anyscene.errors import ConfigError
    from anyscene.evaluation.compared_systems import parse_systems
    from anyscene.evaluation.evaluate import evaluate as run
    from anyscene.evaluation.headline import describe
    from anyscene.evaluation.report import write_report
    from anyscene.evaluation.request import Request

    if find_spec("matplotlib") is None:  # said now, and not when hours of scoring are done
        raise ConfigError("a report needs matplotlib, which is not installed; pip install 'anyscene[report]'")
    request = Request(
        data=data,
        split=split,
        model=model,
        report=report,
        systems=parse_systems(systems) if systems else (),
        clock=clock,
        segmentation=segmentation,
        backbone=backbone,
        baselines=baselines,
        fit_split=fit_split,
        images=images,
        processes=jobs,
    )
    with ExitStack() as stack:
        if cluster:
            from anyscene.cluster.ray_executor import connected, run_on_ray

            cores = stack.enter_context(connected(cluster))
            request = replace(request, processes=max(2, cores), runner=run_on_ray)
        show = stack.enter_context(Stages())
        found = run(request, show)
        write_report(found, report, show)
    rows = [
        (
            own.name,
            *(f"{100 * float(v[0]):.2f}" for v in (own.final.pixel, own.final.class_mean, own.final.iou)),
            f"{own.final.loss[0]:.3f}",
            f"{own.cost_ms:.1f}",
        )
        for own in found.scores.values()
    ]
    headers = ("system", "pixel", "class", "mIoU", "loss", "ms")
    console().print(table(f"{found.dataset.name} {split}, every system at its full cost", headers, rows))
    if figures := describe(found.document["headline"]):
        console().print(table("headline", ("figure", "value"), figures))
    for note in found.notes:
        console().print(f"note: {note}", markup=False, soft_wrap=True, style="yellow")
    console().print(f"wrote {report / 'index.html'}", markup=False, soft_wrap=True)
