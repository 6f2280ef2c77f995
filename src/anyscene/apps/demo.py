"""`anyscene demo`: what more time buys, on a photograph and on generated streets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anyscene.apps.console import JsonOption, busy, check_outputs, console, emit_json, table, track
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

STREETS = "streets:500?size=480x360"
"""Its split `val`, 100 streets, is labelled: on a few of them more time may lose some points by chance."""

SHOWN = 3
"""Pictures of a group on the page."""

DRIVE, DRIVE_FRAMES, DRIVE_SIZE = 11, 30, (480, 360)
"""The street that is driven through, for how long, and the size of its frames."""

STREETS_MODEL = Path(__file__).with_name("streets.anyscene")
"""Fitted to other generated streets than those that the demo shows (recipes/models/streets.toml)."""


Row = dict[str, Any]
"""A line of the table: the budget, and what was measured at it; None where the truth is not known."""


@dataclass(frozen=True, eq=False)
class Picture:
    """One image at every budget. truth : None if it is unknown, or in other classes than the model's."""

    name: str
    image: NDArray[np.uint8]
    truth: NDArray[np.int16] | None
    labelings: tuple[Labeling, ...]


@dataclass(frozen=True, eq=False)
class Group:
    """What one model labelled: some of the pictures, and the mean over all of them by budget."""

    title: str
    model: str
    classes: Classes
    pictures: tuple[Picture, ...]
    rows: tuple[Row, ...]


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
    from anyscene.engine.loading import DEFAULT_MODEL, find_model
    from anyscene.streams.engine import load

    pictures = (output / PICTURE, *output.glob("[0-9]-[0-9]-*"))
    check_outputs(json, output / "index.html", *pictures, inputs=[find_model(model)] if model else [])
    for_photograph, for_streets = (model, model) if model else (DEFAULT_MODEL, str(STREETS_MODEL))
    streets_model = Path(model).stem if model else "a model that was fitted to other generated streets"
    with busy("getting ready"):
        engines = {name: load(name) for name in {for_photograph, for_streets}}
    groups = [
        _photograph(engines[for_photograph], Path(for_photograph).stem),
        _streets(engines[for_streets], streets_model),
    ]
    drive = label_beside(engines[for_streets], street_drive(DRIVE, DRIVE_FRAMES, DRIVE_SIZE), BUDGETS[1])
    write_page(output, groups, BUDGETS, write_stream(output, drive, streets_model))
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
    scenes = dataset.split("val")
    images = (
        (f"street {scene.id}", scene.image, scene.truth if comparable else None)
        for scene in track(scenes, "labeling streets", len(scenes))
    )
    return _group(f"{len(scenes)} generated streets", model, engine, images)


def _group(title: str, model: str, engine: Engine, images: Iterable[tuple[str, Any, Any]]) -> Group:
    """Label images within every budget; the first ones are kept to be shown, the others only count."""
    shown: list[Picture] = []
    measured = []
    for name, image, truth in images:
        labelings = tuple(engine.label(image, budget, confidence=True) for budget in BUDGETS)
        picture = Picture(name, image, truth, labelings)
        measured.append([_measures(picture, turn) for turn in range(len(BUDGETS))])
        if len(shown) < SHOWN:
            shown.append(picture)
    rows = tuple(_means(turn) for turn in zip(*measured, strict=True))
    return Group(title, model, engine.classes, tuple(shown), rows)


def _measures(picture: Picture, turn: int) -> Row:
    """What came of one picture at one budget."""
    from anyscene import metrics

    labeling, truth = picture.labelings[turn], picture.truth
    right = None if truth is None else metrics.count(truth, labeling.labels, len(labeling.classes))
    return {
        "budget_ms": BUDGETS[turn],
        "used_ms": labeling.cost,
        "steps": len(labeling.trace),
        "confidence": labeling.mean_confidence,
        "accuracy": None if right is None else metrics.pixel_accuracy(right),
    }


def _means(rows: Sequence[Row]) -> Row:
    """What the pictures have in common at one budget."""
    from statistics import mean

    known = {name: [row[name] for row in rows] for name in rows[0]}
    return {name: None if None in values else mean(values) for name, values in known.items()}


HEADERS = ("budget, ms", "time used, ms", "steps", "mean confidence", "pixels right")


def cells(row: Row) -> tuple[str, ...]:
    """A row of the table, as text."""
    accuracy = row["accuracy"]
    return (
        f"{row['budget_ms']}",
        f"{row['used_ms']:.1f}",
        f"{row['steps']:.3g}",
        f"{row['confidence']:.1%}",
        "-" if accuracy is None else f"{accuracy:.1%}",
    )
