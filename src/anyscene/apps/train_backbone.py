"""`anyscene train-backbone`: train the hypercolumn's network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from anyscene.apps.console import Screen, check_outputs, console
from anyscene.apps.stopping import stands_at
from anyscene.errors import ConfigError

if TYPE_CHECKING:
    from anyscene.learning.backbone.trainer import Progress as TrainingProgress

LOG_EVERY = 50


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("train-backbone")(train_backbone)


def train_backbone(
    data: Annotated[
        list[str], typer.Option("--data", help="A data set, KIND:PATH; give several for one network.")
    ],
    run: Annotated[Path, typer.Option("--run", help="Folder for checkpoints and finished parts.")],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Backbone file to write from all finished parts in the run folder."),
    ] = None,
    part: Annotated[
        list[str] | None,
        typer.Option("--part", help="Which parts: train, a, b (default: all, one after the other)."),
    ] = None,
    recipe: Annotated[Path | None, typer.Option("--recipe", help="A TOML file of settings.")] = None,
    start: Annotated[
        Path | None,
        typer.Option("--start", help="An earlier run's folder, or a backbone file: begin with its parts."),
    ] = None,
    teacher: Annotated[
        Path | None,
        typer.Option(
            "--teacher",
            help="A run's folder, or a backbone file: its parts teach (see 'distill' in a recipe).",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of everything random.")] = 0,
    threads: Annotated[int, typer.Option("--threads", min=1, help="CPU threads to train with.")] = 2,
) -> None:
    """Train the neural network that models look with, on one or more data sets; needs torch (extra 'train').

    If it is stopped, the same command goes on from the last checkpoint. Parts 'a' and 'b' are each trained on
    one half of the images. They give training images the scores of a network that has not seen them.
    """
    check_outputs(None, out, inputs=[recipe, start, teacher])
    try:
        import torch
    except ImportError as error:
        raise ConfigError(
            "training a backbone needs torch; install it with: pip install 'anyscene[train]'"
        ) from error
    from anyscene.data import open as open_data
    from anyscene.features.hypercolumn.backbone import MAIN, write_backbone
    from anyscene.learning.backbone.pack import pack
    from anyscene.learning.backbone.part_files import read_part
    from anyscene.learning.backbone.parts import PARTS, train_part
    from anyscene.learning.backbone.recipe import Recipe, read_recipe

    torch.set_num_threads(threads)
    settings = read_recipe(recipe) if recipe else Recipe()
    datasets = {spec.split(":", 1)[0]: open_data(spec) for spec in data}
    if len(datasets) < len(data):
        raise ConfigError("each data set may be given once only")
    for name in part or PARTS:
        if name not in PARTS:
            raise ConfigError(f"there is no part '{name}'; the parts are {', '.join(PARTS)}")
        with _Show(name) as show:
            train_part(datasets, name, settings, run, seed, show.update, start, teacher)
    if out is None:
        return
    finished = {
        name: read_part(run / f"{name}.weights") for name in PARTS if (run / f"{name}.weights").exists()
    }
    if MAIN not in finished:
        raise ConfigError(f"{run} holds no finished part '{MAIN}' yet; train it before writing {out}")
    write_backbone(out, pack(finished))
    console().print(f"wrote {out} with the parts {', '.join(finished)}", markup=False)


class _Show:
    """Live progress on a terminal; a line now and then where there is none."""

    def __init__(self, part: str) -> None:
        self._part = part
        screen = Screen(stderr=True)
        self._terminal = screen.is_terminal
        self._bar = Progress(
            TextColumn("part {task.fields[part]}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]:.3f}, {task.fields[left]} left {task.fields[verdict]}"),
            console=screen,
            disable=not self._terminal,
        )
        self._task = self._bar.add_task("", part=part, loss=float("nan"), left="?", verdict="")

    def __enter__(self) -> _Show:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, progress: TrainingProgress) -> None:
        """Show where the run stands."""
        stands_at(f"{progress.step} of {progress.steps} steps of part {self._part}")
        minutes = f"{progress.seconds_left / 60:.0f} min"
        self._bar.update(
            self._task,
            completed=progress.step,
            total=progress.steps,
            loss=progress.loss,
            left=minutes,
            verdict=progress.verdict,
        )
        if not self._terminal and progress.step % LOG_EVERY == 0:
            where = f"part {self._part}: step {progress.step}/{progress.steps}"
            typer.echo(
                f"{where}, loss {progress.loss:.3f}, {minutes} left {progress.verdict}".rstrip(), err=True
            )
