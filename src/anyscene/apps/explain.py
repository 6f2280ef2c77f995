"""`anyscene explain`: a page that shows every step of one labeling."""

from __future__ import annotations

import base64
import io
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyscene.apps.console import busy, check_outputs, console
from anyscene.apps.label import BudgetOption, ModelOption

if TYPE_CHECKING:
    from anyscene.apps.refining import Frame, Picture
    from anyscene.data import Classes

WIDTH = 480


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(explain)


def explain(
    image: Annotated[Path, typer.Argument(help="The picture to label.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the page.")],
    model: ModelOption = None,
    budget: BudgetOption = None,
) -> None:
    """Write a page that shows how a picture was labelled: every step, its cost, its effect."""
    import anyscene
    from anyscene.apps.refining import record
    from anyscene.data import read_image
    from anyscene.files import write_atomically

    target = output / "index.html"
    check_outputs(None, target, inputs=[image])
    picture = read_image(image)
    with busy("getting ready"):
        engine = anyscene.load(model)
    run, frames = record(engine, picture, budget, WIDTH)
    labeling = run.labeling()
    page = PAGE.format(
        name=escape(image.name),
        size=f"{picture.shape[1]}x{picture.shape[0]}",
        budget=escape(budget or "none"),
        spent=f"{frames[-1].elapsed:.1f}",
        share=f"{run.deciding_ms / max(frames[-1].elapsed, 1e-9):.1%}",
        sure=f"{labeling.mean_confidence:.1%}",
        legend=_legend(engine.classes),
        chart=_chart(frames),
        rows="".join(_row(index, frame) for index, frame in enumerate(frames)),
        steps="".join(_section(index, frame) for index, frame in enumerate(frames)),
    )
    with write_atomically(target) as file:
        file.write(page.encode(errors="backslashreplace"))
    console().print(f"Open {target}", markup=False, soft_wrap=True)


def _row(index: int, frame: Frame) -> str:
    step, sure = frame.step, f"{frame.labeling.mean_confidence:.1%}"
    if step is None:
        done = ("the prior", "", "", "0.0", "1", "")
    else:
        done = (
            escape(step.action),
            f"{step.predicted_ms:.2f}",
            f"{step.actual_ms:.2f}",
            f"{frame.elapsed:.1f}",
            str(step.leaves),
            f"{step.mean_entropy:.3f}",
        )
    cells = (f'<a href="#step{index}">{index}</a>', *done, sure)
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _section(index: int, frame: Frame) -> str:
    import numpy as np

    sure = np.rint(frame.labeling.require_confidence() * 255).astype(np.uint8)
    pictures = (
        _figure(frame.outlined(), "leaves; those not active are dark"),
        _figure(frame.labeling.overlay(frame.image, 0.65), "labels"),
        _figure(sure, "confidence, white is sure"),
    )
    return f'<h3 id="step{index}">{index}. {escape(frame.caption())}</h3>{"".join(pictures)}'


def _figure(picture: Picture, caption: str) -> str:
    from PIL import Image

    packed = io.BytesIO()
    Image.fromarray(picture).save(packed, "WEBP", quality=80)
    data = base64.b64encode(packed.getvalue()).decode()
    words = escape(caption)
    shown = f'<img src="data:image/webp;base64,{data}" alt="{words}">'
    return f"<figure>{shown}<figcaption>{words}</figcaption></figure>"


def _legend(classes: Classes) -> str:
    return "".join(
        f'<span style="border-left: 1em solid rgb({red},{green},{blue})">{escape(name)}</span>'
        for name, (red, green, blue) in zip(classes.names, classes.palette.tolist(), strict=True)
    )


def _chart(frames: list[Frame]) -> str:
    """Mean confidence over time as a line of steps."""
    width, height = 640, 160
    end = max(frames[-1].elapsed, 1e-9)
    points, level = [], 0.0
    for frame in frames:
        x = 40 + (width - 50) * frame.elapsed / end
        points.append(f"{x:.1f},{height - 20 - (height - 30) * level:.1f}")
        level = float(frame.labeling.require_confidence().mean())
        points.append(f"{x:.1f},{height - 20 - (height - 30) * level:.1f}")
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="mean confidence over time">'
        f'<text x="0" y="16">100%</text><text x="10" y="{height - 20}">0%</text>'
        f'<text x="{width - 60}" y="{height - 4}">{end:.1f} ms</text>'
        f'<path d="M40 10V{height - 20}H{width - 10}" class="axis"/>'
        f'<polyline points="{" ".join(points[1:])}"/></svg>'
    )


PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="generator" content="written by anyscene">
<meta name="viewport" content="width=device-width">
<title>anyscene: {name}, step by step</title>
<style>
  body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 96em; margin: 2em auto; padding: 0 1em; }}
  figure {{ display: inline-block; margin: 0 .5em 1em 0; width: calc(33% - .6em); min-width: 18em; }}
  figure img {{ width: 100%; display: block; }}
  figcaption {{ color: #555; }}
  table {{ border-collapse: collapse; }}
  td, th {{ padding: .1em .8em; text-align: right; }}
  td:nth-child(2), th:nth-child(2) {{ text-align: left; }}
  tr:nth-child(even) {{ background: #f2f2f2; }}
  span {{ padding-left: .4em; margin-right: 1em; white-space: nowrap; }}
  svg {{ width: 40em; max-width: 100%; font-size: 12px; }}
  .axis {{ fill: none; stroke: #999; }}
  polyline {{ fill: none; stroke: #1461c8; stroke-width: 2; }}
</style>
<h1>{name}</h1>
<p>{size} pixels; budget: {budget}; {spent} ms spent, {share} of it on choosing actions;
{sure} sure on average.</p>
<p>{legend}</p>
<h2>Confidence over time</h2>
{chart}
<h2>Steps</h2>
<table>
<tr><th></th><th>action</th><th>foretold, ms</th><th>taken, ms</th><th>so far, ms</th><th>leaves</th>
<th>mean entropy</th><th>mean confidence</th></tr>
{rows}
</table>
{steps}
</html>
"""
