"""`anyscene demo`: what more time buys, on a photograph and on generated streets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anyscene.apps.console import JsonOption, busy, check_outputs, console, emit_json, table
from anyscene.apps.label import ModelOption

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from anyscene.data import Classes
    from anyscene.engine import Engine
    from anyscene.labeling import Labeling

BUDGETS = (2, 5, 10, 20, 50, 100)
"""Milliseconds for each image."""

PHOTOGRAPH = "china.jpg"
"""A picture that comes with scikit-learn."""

STREETS = "streets:20?size=480x360"
STREETS_SHOWN = 3
DRIVE, DRIVE_FRAMES, DRIVE_SIZE = 11, 30, (480, 360)
"""The street that is driven through, for how long, and the size of its frames."""

STREETS_MODEL = Path(__file__).with_name("streets.anyscene")
"""Fitted to other generated streets than those that the demo shows (recipes/models/streets.toml)."""


@dataclass(frozen=True, eq=False)
class Picture:
    """One image at every budget. truth : None if it is unknown, or in other classes than the model's."""

    name: str
    image: NDArray[np.uint8]
    truth: NDArray[np.int16] | None
    labelings: tuple[Labeling, ...]


@dataclass(frozen=True, eq=False)
class Group:
    """Pictures that one model labelled. rows : by budget, what their mean is."""

    title: str
    model: str
    classes: Classes
    pictures: tuple[Picture, ...]
    rows: tuple[dict[str, float | None], ...]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(demo)


def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for the page and its pictures.")
    ] = Path("demo"),
    model: ModelOption = None,
    json: JsonOption = None,
) -> None:
    """Label a photograph and generated streets within 2 to 100 ms each, and write a page that shows it.

    A drive through a street is labelled twice, frame by frame and as a stream.
    """
    from anyscene.apps.demo_page import write_page
    from anyscene.apps.demo_stream import PICTURE, label_beside, write_stream
    from anyscene.data.streets.drive import street_drive
    from anyscene.engine.loading import DEFAULT_MODEL
    from anyscene.streams.engine import load

    check_outputs(json, output / "index.html", output / PICTURE, *output.glob("[0-9]-[0-9]-*"))
    for_photograph, for_streets = (model, model) if model else (DEFAULT_MODEL, str(STREETS_MODEL))
    with busy("getting ready"):
        engines = {name: load(name) for name in {for_photograph, for_streets}}
    groups = [
        _photograph(engines[for_photograph], Path(for_photograph).stem),
        _streets(engines[for_streets], Path(for_streets).stem),
    ]
    drive = label_beside(engines[for_streets], street_drive(DRIVE, DRIVE_FRAMES, DRIVE_SIZE), BUDGETS[1])
    write_page(output, groups, BUDGETS, write_stream(output, drive, Path(for_streets).stem))
    screen = console(json)
    for group in groups:
        screen.print(table(f"{group.title}, labelled by {group.model}", HEADERS, map(cells, group.rows)))
    screen.print(f"Open {output / 'index.html'}", markup=False, soft_wrap=True)
    emit_json(
        {group.title: {"model": group.model, "budgets": list(group.rows)} for group in groups}
        | {"stream": drive.to_json()},
        json,
    )


def _photograph(engine: Engine, model: str) -> Group:
    import numpy as np
    from sklearn.datasets import load_sample_image

    image = np.ascontiguousarray(load_sample_image(PHOTOGRAPH))
    return _group(f"a photograph ({PHOTOGRAPH})", model, engine, [(PHOTOGRAPH, image, None)])


def _streets(engine: Engine, model: str) -> Group:
    import anyscene

    dataset = anyscene.data.open(STREETS)
    comparable = engine.classes.names == dataset.classes.names
    scenes = [
        (f"street {scene.id}", scene.image, scene.truth if comparable else None)
        for scene in dataset.split("val")[:STREETS_SHOWN]
    ]
    return _group(f"{len(scenes)} generated streets", model, engine, scenes)


def _group(title: str, model: str, engine: Engine, images: list[tuple[str, Any, Any]]) -> Group:
    pictures = tuple(
        Picture(name, image, truth, tuple(engine.label(image, budget, confidence=True) for budget in BUDGETS))
        for name, image, truth in images
    )
    rows = tuple(_means(pictures, turn) for turn in range(len(BUDGETS)))
    return Group(title, model, engine.classes, pictures, rows)


def _means(pictures: tuple[Picture, ...], turn: int) -> dict[str, float | None]:
    """What the pictures have in common at one budget."""
    from statistics import mean

    from anyscene import metrics

    labelings = [picture.labelings[turn] for picture in pictures]
    right = [
        metrics.pixel_accuracy(metrics.count(picture.truth, labeling.labels, len(labeling.classes)))
        for picture, labeling in zip(pictures, labelings, strict=True)
        if picture.truth is not None
    ]
    return {
        "budget_ms": BUDGETS[turn],
        "used_ms": mean(labeling.cost for labeling in labelings),
        "steps": mean(len(labeling.trace) for labeling in labelings),
        "confidence": mean(float(labeling.require_confidence().mean()) for labeling in labelings),
        "accuracy": mean(right) if right else None,
    }


HEADERS = ("budget, ms", "time used, ms", "steps", "mean confidence", "pixels right")


def cells(row: dict[str, float | None]) -> tuple[str, ...]:
    """A row of the table, as text."""
    accuracy = row["accuracy"]
    return (
        f"{row['budget_ms']}",
        f"{row['used_ms']:.1f}",
        f"{row['steps']:.3g}",
        f"{row['confidence']:.1%}",
        "-" if accuracy is None else f"{accuracy:.1%}",
    )
