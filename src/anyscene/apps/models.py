"""`anyscene models`: the models that ship, what they label, how well, and from which data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from anyscene.apps.console import JsonOption, check_outputs, console, emit_json, table

if TYPE_CHECKING:
    from anyscene.modelfile import TrainedModel

SHOWN_MS = (2, 5, 10, 20, 50, 100)
"""Budgets at which the cost curve is told."""

NETWORK = (
    "Their network began as EfficientNet-lite0 with ImageNet weights and was fitted to CamVid, Stanford "
    "Background and SIFT Flow together (train only); camvid's lost some blocks after that, and was fitted on."
)

PAPERS_SETTING = (
    "It was learned in the paper's own setting: trees on regions, one label a region. It takes the same "
    "actions on every image; the last split opens only doubtful regions. `anyscene watch` and `anyscene "
    "explain` show it at work."
)

LICENCES = {
    "camvid": "CamVid (Brostow et al., University of Cambridge, 2008): published for research; its authors "
    "ask to be cited and state no licence for other uses.",
    "stanford": "Stanford Background (Gould et al., 2009): gathered from LabelMe, MSRC, PASCAL VOC and "
    "Geometric Context for research; each picture keeps the terms of its source.",
    "siftflow": "SIFT Flow (Liu et al., 2011): pictures and labels of LabelMe, published for research; no "
    "licence for other uses is stated.",
}
"""By data set. None of their files is part of anyscene."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(models)


def models(json: JsonOption = None) -> None:
    """List the models that ship: their classes, training data and its terms, and scores by budget."""
    from anyscene.engine.loading import DEFAULT_MODEL, shipped_models
    from anyscene.modelfile import load_model

    check_outputs(json)

    found = [
        {**describe(name, path, load_model(path)), "default": name == DEFAULT_MODEL}
        for name, path in shipped_models().items()
    ]
    screen = console(json)
    if found:
        headers = ("model", "MiB", "classes", "trained on", "pixel", "class", "mIoU", "ms")
        screen.print(table("models that ship", headers, map(_row, found)))
    else:
        screen.print("no model ships with this installation; `anyscene train` makes one")
    for one in found:
        lines = [
            f"{one['name']} labels {', '.join(one['classes'])}.",
            PAPERS_SETTING if one["setting"] == "paper" else "",
            one["licence"] or "",
            _curve_words(one),
        ]
        screen.print("\n" + "\n".join(filter(None, lines)), markup=False, soft_wrap=True)
    if found:
        screen.print(f"\n{NETWORK}", markup=False, soft_wrap=True)
    emit_json({"models": found}, json)


def describe(name: str, path: Path, trained: TrainedModel) -> dict[str, Any]:
    """What the list says of a model. Scores are fractions, of `val` if the model's record has them."""
    record = trained.record
    kind = str(record.get("data", ""))
    return {
        "name": name,
        "file": str(path),
        "bytes": path.stat().st_size,
        "classes": list(trained.classes.names),
        "data": kind,
        "images": sum(int(record.get(f"images {part}", 0)) for part in ("fitted", "held out")),
        "licence": LICENCES.get(kind),
        "setting": "usual" if record.get("config", {}).get("detail", True) else "paper",
        "val": record.get("val"),
        "held out": record.get("held out", {}).get("D-NM"),
    }


def _row(one: Mapping[str, Any]) -> tuple[object, ...]:
    scores: Mapping[str, Any] = one["val"] or {}
    curve = scores.get("curve")
    return (
        one["name"] + (" (default)" if one["default"] else ""),
        f"{one['bytes'] / 2**20:.1f}",
        len(one["classes"]),
        f"{one['images']} of {one['data']}",
        *(f"{100 * scores[score]:.1f}" if score in scores else "-" for score in ("pixel", "class", "iou")),
        f"{curve[-1][0]:.0f}" if curve else "-",
    )


def _curve_words(one: Mapping[str, Any]) -> str:
    """Pixel accuracy on `val` within some budgets, in one line."""
    curve = (one["val"] or {}).get("curve") or []
    reached = [(budget, [pixel for ms, pixel in curve if ms <= budget]) for budget in SHOWN_MS]
    told = ", ".join(f"{100 * pixels[-1]:.1f} in {budget} ms" for budget, pixels in reached if pixels)
    return f"Pixels right on val, %: {told}." if told else ""
