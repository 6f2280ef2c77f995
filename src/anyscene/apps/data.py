"""`anyscene data`: look through a data set, and look at it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyscene.apps.console import JsonOption, busy, check_outputs, console, emit_json, table, track

if TYPE_CHECKING:
    from rich.console import Console

    from anyscene.data import DataSet
    from anyscene.data.checking import Check

SpecArgument = Annotated[
    str,
    typer.Argument(
        metavar="SPEC",
        help="KIND:PATH; KIND: folder, coco, cvat, labelme, cityscapes, camvid, stanford, siftflow, streets.",
        show_default=False,
    ),
]

SIZES_SHOWN = 5


def register(app: typer.Typer) -> None:
    """Add `anyscene data` to the command line."""
    group = typer.Typer(no_args_is_help=True, help="Check a data set, or show some of its scenes.")
    group.command("check")(check)
    group.command("show")(show)
    app.add_typer(group, name="data")


def check(spec: SpecArgument, json: JsonOption = None) -> None:
    """Read every scene of a data set and say what it holds and what is wrong with it.

    Exit code: 0 if all is in order, 1 if there are problems, 2 if it cannot be opened at all.
    """
    from anyscene.data import checking
    from anyscene.data.specs import place_of

    check_outputs(json, inputs=[place_of(spec)])

    dataset = _open(spec)
    found = checking.check(dataset, lambda scenes: track(scenes, f"Checking {dataset.name}"))
    _report(found, console(json))
    emit_json({"spec": spec, **found.to_dict()}, json)
    if found.problems:
        raise typer.Exit(1)


def show(
    spec: SpecArgument,
    split: Annotated[str, typer.Option(help="The split to show scenes of.")] = "all",
    count: Annotated[int, typer.Option("-n", "--count", min=1, help="How many scenes, evenly spread.")] = 12,
    output: Annotated[Path, typer.Option("-o", "--output", help="The picture to write.")] = Path("sheet.png"),
) -> None:
    """Draw a contact sheet: scenes beside their truth, with a legend."""
    from anyscene.apps.contact_sheet import draw_sheet, save_picture
    from anyscene.data.specs import place_of
    from anyscene.data.splits import evenly_spread

    check_outputs(None, output, inputs=[place_of(spec)])

    dataset = _open(spec)
    scenes = dataset.split(split)
    chosen = evenly_spread(len(scenes), count)
    picked = [scenes[index] for index in track(chosen, f"Reading {dataset.name}")]
    save_picture(draw_sheet(picked, dataset.classes), output)
    console().print(
        f"{len(picked)} of {len(scenes)} scenes of {dataset.name}, split {split}: {output}", markup=False
    )


def _open(spec: str) -> DataSet:
    import anyscene.data

    with busy(f"Opening {spec}"):
        return anyscene.data.open(spec)


def _report(found: Check, screen: Console) -> None:
    """Print a check for people to read."""
    counts = ", ".join(f"{split} {count}" for split, count in found.splits.items())
    total = found.splits["all"]
    lines = [f"{found.name}: {total} scene{'s' * (total != 1)} ({counts})"]
    sizes = [f"{count} of {width}x{height}" for (width, height), count in found.sizes.items()]
    if len(sizes) > SIZES_SHOWN:
        sizes = [*sizes[:SIZES_SHOWN], f"and {len(sizes) - SIZES_SHOWN} more sizes"]
    if sizes:
        lines.append(f"images: {', '.join(sizes)}")
    if found.unlabeled:
        lines.append(f"{found.unlabeled} scenes have no truth")
    screen.print("\n".join(lines), markup=False, soft_wrap=True)
    if found.pixels.any():
        rows = [
            (name, f"{100 * share:.3f}", int(scenes))
            for name, share, scenes in zip(found.classes.names, found.shares, found.scenes, strict=True)
        ]
        screen.print(table("Classes", ["class", "% of labelled pixels", "in scenes"], rows))
        screen.print(f"{100 * found.void_share:.3f} % of all pixels are void")
    for note in found.notes:
        screen.print(f"note: {note}", markup=False, soft_wrap=True)
    for problem in found.problems:
        screen.print(f"problem: {problem}", markup=False, soft_wrap=True)
    verdict = f"{len(found.problems)} problems" if found.problems else "no problems"
    screen.print(verdict if len(found.problems) != 1 else "1 problem")
