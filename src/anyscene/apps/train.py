"""`anyscene train`: from a data set to a model file."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anyscene.apps.console import Stages, check_outputs, console, table
from anyscene.apps.label import ClusterOption

if TYPE_CHECKING:
    from anyscene.learning.config import TrainConfig

PAPER = Path("paper")
"""What `--config` calls the settings of the paper's experiments, which come with the package."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(train)


def train(
    data: Annotated[str, typer.Option("--data", metavar="SPEC", help="Data set, such as camvid:PATH.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="Model file to write.")],
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="A TOML file of settings (docs/learning.md); `paper`: those of the paper's experiments.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")] = 0,
    split: Annotated[
        str, typer.Option("--split", help="Which part of the data set to learn from.")
    ] = "train",
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin anew instead of going on with a run that was stopped.")
    ] = False,
    search: Annotated[
        bool,
        typer.Option("--search", help="First try the settings that matter most, and keep the best."),
    ] = False,
    run: Annotated[
        Path | None, typer.Option("--run", metavar="FOLDER", help="Folder of the run (default: FILE.run).")
    ] = None,
    backbone: Annotated[
        list[str] | None,
        typer.Option(
            "--backbone",
            metavar="[NAME=]FILE",
            help="The network to start from; none: the one that ships. large=FILE: a second one beside it, "
            "which 'rungs' of the settings calls 'large'.",
        ),
    ] = None,
    without_network: Annotated[
        bool, typer.Option("--without-network", help="Learn from the other feature sets alone.")
    ] = False,
    costs: Annotated[
        Path | None, typer.Option("--costs", metavar="FILE", help="Costs of an earlier run (its costs.json).")
    ] = None,
    cluster: ClusterOption = None,
) -> None:
    """Learn a model of your own from labelled images.

    If it is stopped, the same command goes on where it was.

    Networks are not trained again. If one knows your classes by their names, its scores for them are used.
    Otherwise its scores for other classes are used as features.
    """
    from anyscene.data import open as open_data
    from anyscene.data.specs import place_of
    from anyscene.learning.search import search_config
    from anyscene.learning.train import train as learn

    trials = out.with_name(f"{out.name}.search").glob("*.anyscene") if search else ()
    backbones = _backbones(backbone) if backbone else None
    check_outputs(None, out, *trials, inputs=[place_of(data), config, costs, *(backbones or {}).values()])
    settings = _settings(config)
    dataset = open_data(data)
    with ExitStack() as stack:
        spread = None
        if cluster:
            from anyscene.cluster.ray_executor import connected
            from anyscene.cluster.training import ClusterSpread

            spread = ClusterSpread(stack.enter_context(connected(cluster)))
        show = stack.enter_context(Stages())
        options: dict[str, Any] = {
            "split": split,
            "network": not without_network,
            "backbone": backbones,
            "costs": costs,
            "restart": restart,
            "report": show,
            "spread": spread,
        }
        if search:
            settings = search_config(dataset, out, settings, seed, **options)
        trained = learn(dataset, out, settings, seed, run=run, **options)
    rows = [
        (name, *(f"{value:.4g}" for value in figures.values()))
        for name, figures in trained.record["held out"].items()
    ]
    headers = ("policy", "area over log cost", "final accuracy", "final cost, ms")
    console().print(table("on held-out images", headers, rows))
    console().print(f"wrote {out}", markup=False, soft_wrap=True)


def _backbones(given: list[str]) -> dict[str, Path]:
    """The files by the names of their networks, from NAME=FILE; a FILE alone is the usual network's."""
    from anyscene.errors import ConfigError
    from anyscene.features.hypercolumn.rung import NETWORK

    backbones: dict[str, Path] = {}
    for text in given:
        named = re.fullmatch("([a-z]+)=(.+)", text)
        name, file = named.groups() if named else (NETWORK, text)
        if name in backbones:
            raise ConfigError(f"--backbone gives the network '{name}' twice; name the second: large=FILE")
        backbones[name] = Path(file)
    return backbones


def _settings(config: Path | None) -> TrainConfig:
    from anyscene.learning.config import TrainConfig, read_config
    from anyscene.learning.paper import paper_config

    if config == PAPER:
        return paper_config()
    return read_config(config) if config else TrainConfig()
