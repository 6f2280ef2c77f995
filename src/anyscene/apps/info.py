"""`anyscene info`: what is in a model file, in plain words."""

from __future__ import annotations

from typing import Annotated

import typer

from anyscene.apps.console import JsonOption, check_outputs, console, emit_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(info)


def info(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model that ships, or a .anyscene file.")],
    json: JsonOption = None,
) -> None:
    """Say what a model can label, what it looks at, what it may do, and how it was trained."""
    from anyscene.engine.loading import find_model
    from anyscene.modelfile import describe_model, load_model

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
