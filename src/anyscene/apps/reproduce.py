"""`anyscene reproduce`: the paper's experiments in one command, with a table of its claims."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from anyscene.apps.console import Stages, console, table


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(reproduce)


def reproduce(
    report: Annotated[Path, typer.Option("-o", "--report", metavar="FOLDER", help="Folder of the report.")],
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            metavar="SPEC",
            help="A data set, such as camvid:PATH; may be given several times. None: a quick run on "
            "generated streets.",
        ),
    ] = None,
    split: Annotated[str, typer.Option("--split", help="Part of each data set to score on.")] = "val",
    segmentation: Annotated[
        str,
        typer.Option(
            help="How tables and figures charge the tree. upfront: first, as in the paper; lazy: as it "
            "grows. Claims are checked both ways."
        ),
    ] = "upfront",
    quick: Annotated[
        bool, typer.Option("--quick", help="Small settings and few images, to see in minutes that all works.")
    ] = False,
    backbone: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The network that all systems look at; default: what is installed."
        ),
    ] = None,
    without_network: Annotated[
        bool, typer.Option("--without-network", help="Eight feature sets instead of nine, for all systems.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random in training.")] = 0,
    images: Annotated[int, typer.Option(min=0, help="Score at most so many images; 0: all.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Processes to score with.")] = os.cpu_count() or 1,
) -> None:
    """Do the paper's experiments: train, fit baselines, score all, and write a page that checks its claims.

    If it is stopped, the same command goes on where it was.
    """
    from anyscene.errors import ConfigError
    from anyscene.evaluation.report.reproduction import CLAIM_HEADERS, claim_rows, write_reproduction
    from anyscene.evaluation.reproduce import QUICK_DATA, QUICK_IMAGES, Reproduction, quick_config
    from anyscene.evaluation.reproduce import reproduce as run
    from anyscene.learning.paper import paper_config

    if find_spec("matplotlib") is None:  # said now, and not when hours of training are done
        raise ConfigError("a report needs matplotlib, which is not installed; pip install 'anyscene[report]'")
    small = quick or not data
    config = paper_config()
    wanted = Reproduction(
        data=tuple(data or (QUICK_DATA,)),
        report=report,
        split=split,
        segmentation=segmentation,
        network=bool(data) and not without_network,
        backbone=backbone,
        config=quick_config(config) if small else config,
        seed=seed,
        images=images or (QUICK_IMAGES if small else 0),
        processes=jobs,
    )
    with Stages() as show:
        made = run(wanted, show)
        write_reproduction(made, report, show)
    screen = console()
    for one in made:
        title = f"{one.evaluation.dataset.name} {split}: the paper's claims"
        screen.print(table(title, CLAIM_HEADERS, claim_rows(one.claims)))
        for note in one.evaluation.notes:
            screen.print(f"note: {note}", markup=False, soft_wrap=True, style="yellow")
    screen.print(f"wrote {report / 'index.html'}", markup=False, soft_wrap=True)
