"""`anyscene info`: what is in a model file, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from anyscene.apps.console import JsonOption, check_outputs, console, emit_json

if TYPE_CHECKING:
    from anyscene.modelfile import TrainedModel


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(info)


def info(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model that ships, or a .anyscene file.")],
    json: JsonOption = None,
) -> None:
    """Say what a model can label, what it looks at, and how it was trained."""
    from anyscene.engine.loading import find_model
    from anyscene.modelfile import load_model

    path = find_model(model)
    check_outputs(json, inputs=[path])
    trained = load_model(path)
    for line in describe_model(trained):
        console(json).print(line, markup=False, soft_wrap=True)
    emit_json(
        {
            "classes": trained.classes.names,
            "feature sets": trained.model.pool.sets,
            "actions": len(trained.model.pool.actions),
            "policies": list(trained.policies),
            "record": dict(trained.record),
        },
        json,
    )


def describe_model(trained: TrainedModel) -> list[str]:
    """What is in a model, in plain sentences."""
    from anyscene.model.actions import Split

    pool, costs, record = trained.model.pool, trained.model.costs, trained.record
    splits = [action for action in pool.actions if isinstance(action, Split)]
    trees = sum(chain.size for chain in pool.chains)
    finest = zip(pool.sets, costs.pooling[:, -1], costs.requires[:, -1], strict=True)
    prices = ", ".join(f"{name} {ms + costs.items[needed].sum():.2g} ms" for name, ms, needed in finest)
    lines = [
        f"labels {pool.classes} classes: {', '.join(trained.classes.names)}",
        f"looks at {len(pool.sets)} feature sets (cost on the finest layer, alone): {prices}",
        f"chooses among {len(pool.actions)} actions: {len(splits)} way{'s' * (len(splits) != 1)} to split, "
        f"{len(pool.actions) - len(splits)} bundles from {len(pool.chains)} chains of {trees} weak learners",
        f"takes at most {trained.model.max_steps} actions; a step costs at least {costs.step:.2g} ms",
        f"policies: {', '.join(trained.policies)}, and a static sequence of {len(trained.static)} actions",
        f"has {len(trained.plans)} plans for known deadlines",
    ]
    if trained.graphs:
        lines.append(f"holds the networks {', '.join(trained.graphs)}")
    if record:
        lines.append(
            f"trained on {record.get('images fitted')} images of {record.get('data')} "
            f"({record.get('images held out')} held out), seed {record.get('seed')}, "
            f"by anyscene {record.get('anyscene')}"
        )
    for name, figures in dict(record.get("held out", {})).items():
        words = ", ".join(f"{what} {value:.4g}" for what, value in figures.items())
        lines.append(f"on held-out images, {name}: {words}")
    return lines
