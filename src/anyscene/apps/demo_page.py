"""The page of `anyscene demo`: tables, the anytime curve, pictures side by side."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyscene.apps.contact_sheet import save_picture
from anyscene.apps.demo import HEADERS, Group, Picture, cells
from anyscene.data import Classes
from anyscene.files import write_atomically
from anyscene.labeling import Labeling

LEAST_SHARE = 0.005
"""Classes with less of a picture are left out of its legend."""

WIDTH, HEIGHT, LEFT, BOTTOM = 640, 240, 48, 36
COLORS = ("#1461c8", "#b3470f")
DASHES = {"accuracy": "none", "confidence": "6 4"}
WORDS = {"accuracy": "pixels right", "confidence": "mean confidence"}


def write_page(folder: Path, groups: Sequence[Group], budgets: Sequence[int], stream: str) -> None:
    """Write `index.html`, the pictures that it shows, and every labeling as a PNG of ids.

    stream : the section on streams.
    """
    sections = []
    for number, group in enumerate(groups):
        pictures = "".join(
            _strip(folder, f"{number}-{index}", picture, group.classes, budgets)
            for index, picture in enumerate(group.pictures)
        )
        sections.append(
            f"<h2>{escape(group.title)}</h2>"
            f"<p>Labelled by {escape(group.model)}.{_which_are_shown(group)}</p>{_table(group)}{pictures}"
        )
    page = PAGE.format(chart=_chart(groups, budgets), sections="".join(sections) + stream)
    with write_atomically(folder / "index.html") as file:
        file.write(page.encode())


def _strip(folder: Path, name: str, picture: Picture, classes: Classes, budgets: Sequence[int]) -> str:
    """One image: as it is, its truth if it has one, and its labels at every budget."""

    def show(shown: NDArray[np.uint8], suffix: str, caption: str) -> str:
        save_picture(shown, folder / f"{name}-{suffix}.jpg")
        words = escape(caption)
        source = f'<img src="{name}-{suffix}.jpg" alt="{words}" loading="lazy">'
        return f"<figure>{source}<figcaption>{words}</figcaption></figure>"

    figures = [show(picture.image, "image", picture.name)]
    if picture.truth is not None:
        figures.append(show(Labeling(picture.truth, classes).color(), "truth", "truth"))
    for budget, labeling in zip(budgets, picture.labelings, strict=True):
        labeling.save(folder / f"{name}-{budget}ms-ids.png")
        figures.append(
            show(
                labeling.overlay(picture.image, 0.65), f"{budget}ms", f"{budget} ms: {labeling.cost:.1f} used"
            )
        )
    return f"<div>{_legend(picture.labelings[-1])}{''.join(figures)}</div>"


def _which_are_shown(group: Group) -> str:
    shown = len(group.pictures)
    return "" if shown == 1 else f" The table has the mean of all, and {shown} of them are shown."


def _table(group: Group) -> str:
    head = "".join(f"<th>{escape(header)}</th>" for header in HEADERS)
    rows = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells(row))}</tr>" for row in group.rows)
    return f"<table><tr>{head}</tr>{rows}</table>"


def _legend(labeling: Labeling) -> str:
    """What is seen in a picture with most time, and how much of it."""
    colors = dict(zip(labeling.classes.names, labeling.classes.palette.tolist(), strict=True))
    seen = sorted(labeling.shares().items(), key=lambda one: -one[1])
    items = "".join(
        f'<span style="border-left: 1em solid rgb{tuple(colors[name])}">{escape(name)} {share:.0%}</span>'
        for name, share in seen
        if share >= LEAST_SHARE
    )
    return f"<p>{items}</p>"


def _chart(groups: Sequence[Group], budgets: Sequence[int]) -> str:
    """Accuracy where it is known, and confidence, against the budget, on a logarithmic scale."""
    lines = [
        (
            f"{WORDS[what]}, {group.title}",
            color,
            DASHES[what],
            [row[what] or 0.0 for row in group.rows],
        )
        for group, color in zip(groups, COLORS, strict=True)
        for what in WORDS
        if group.rows[0][what] is not None
    ]
    first, last = log(budgets[0]), log(budgets[-1])
    # From the ten below the lowest value: against 0 to 100 the gain would be a flat line.
    low = floor(10 * min(value for *_, values in lines for value in values) - 1e-9) / 10
    high = ceil(10 * max(value for *_, values in lines for value in values) + 1e-9) / 10

    def place(ms: float, value: float) -> str:
        across = (log(ms) - first) / (last - first)
        below = (high - value) / (high - low)
        return f"{LEFT + across * (WIDTH - LEFT - 20):.1f},{10 + below * (HEIGHT - BOTTOM - 10):.1f}"

    drawn = "".join(
        f'<polyline points="{" ".join(place(ms, value) for ms, value in zip(budgets, values, strict=True))}" '
        f'stroke="{color}" stroke-dasharray="{dash}"/>'
        for _, color, dash, values in lines
    )
    ticks = "".join(
        f'<text x="{place(ms, low).split(",")[0]}" y="{HEIGHT - BOTTOM + 16}" class="tick">{ms}</text>'
        for ms in budgets
    )
    keys = "".join(
        f'<text x="{WIDTH // 2}" y="{HEIGHT - BOTTOM - 8 - 15 * index}" fill="{color}">'
        f"{'—' if dash == 'none' else '- -'} {escape(words)}</text>"
        for index, (words, color, dash, _) in enumerate(lines)
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="what more time buys">'
        f'<path d="M{LEFT} 10V{HEIGHT - BOTTOM}H{WIDTH - 10}" class="axis"/>'
        f'<text x="4" y="16">{high:.0%}</text><text x="4" y="{HEIGHT - BOTTOM}">{low:.0%}</text>'
        f'<text x="{WIDTH // 2}" y="{HEIGHT - 4}">milliseconds given</text>{ticks}{keys}{drawn}</svg>'
    )


PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="generator" content="written by anyscene">
<meta name="viewport" content="width=device-width">
<title>anyscene: what more time buys</title>
<style>
  body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 96em; margin: 2em auto; padding: 0 1em; }}
  figure {{ display: inline-block; margin: 0 .5em 1em 0; width: calc(25% - .7em); min-width: 15em; }}
  figure.wide {{ width: 100%; max-width: 60em; }}
  img {{ width: 100%; display: block; }}
  figcaption {{ color: #555; }}
  td, th {{ padding: .2em 1em; text-align: right; }}
  span {{ padding-left: .4em; margin-right: 1em; white-space: nowrap; }}
  svg {{ width: 48em; max-width: 100%; font-size: 12px; }}
  .axis {{ fill: none; stroke: #999; }}
  .tick {{ text-anchor: middle; }}
  polyline {{ fill: none; stroke-width: 2; }}
</style>
<h1>anyscene</h1>
<p>Every pixel of a scene gets a class, on a CPU, within the time that is given: the same images below,
again and again, with 2 to 100 milliseconds each.</p>
{chart}
{sections}
<h2>What to try next</h2>
<pre>
anyscene label photo.jpg --overlay            # your own photo: labels/photo.overlay.png
anyscene explain photo.jpg -o explained       # every step of a labeling, on a page
anyscene models                               # what the models that ship can label, and how well
anyscene train --data folder:mydata -o mine.anyscene   # your own classes: docs/train-your-own.md
</pre>
</html>
"""
