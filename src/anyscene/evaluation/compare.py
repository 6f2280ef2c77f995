"""Reports side by side: scores of every system, and the headline figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from anyscene.evaluation.headline import describe
from anyscene.evaluation.report.markup import html_page, html_table

Documents = Mapping[str, Mapping[str, Any]]
"""Results (see `results`) by the name of the report."""

SHOWN: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("pixel", "pixel accuracy, %", lambda value: f"{100 * value:.2f}"),
    ("class", "class accuracy, %", lambda value: f"{100 * value:.2f}"),
    ("iou", "mean IoU, %", lambda value: f"{100 * value:.2f}"),
    ("loss", "labeling loss", lambda value: f"{value:.3f}"),
    ("cost_ms", "full cost, ms", lambda value: f"{value:.1f}"),
)


@dataclass(frozen=True)
class Comparison:
    """One table: a row for each system or figure, a column for each report."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def comparison(documents: Documents) -> list[Comparison]:
    """The tables of a comparison; systems that a report lacks are left blank there."""
    labels = tuple(_labels(list(documents)))
    kept = list(documents.values())
    systems = list(dict.fromkeys(own["name"] for document in kept for own in document["systems"]))
    about = [
        (what, *(str(document.get(what, "")) for document in kept))
        for what in ("data", "split", "images", "model", "clock")
    ]
    tables = [Comparison("reports", ("", *labels), tuple(about))]
    for key, title, show in SHOWN:
        rows = [(name, *(_cell(document, name, key, show) for document in kept)) for name in systems]
        tables.append(Comparison(title, ("system", *labels), tuple(rows)))
    figures = [dict(describe(document.get("headline", {}))) for document in kept]
    named = list(dict.fromkeys(_plain(name) for own in figures for name in own))
    plain = [{_plain(name): value for name, value in own.items()} for own in figures]
    rows = [(name, *(own.get(name, "") for own in plain)) for name in named]
    tables.append(Comparison("headline", ("figure", *labels), tuple(rows)))
    return tables


def comparison_page(documents: Documents) -> str:
    """The comparison as a page by itself."""
    parts = [
        f"<section><h2>{escape(made.title)}</h2>{html_table(made.columns, made.rows)}</section>"
        for made in comparison(documents)
    ]
    return html_page("Reports side by side", "", "".join(parts))


def _cell(document: Mapping[str, Any], name: str, key: str, show: Callable[[float], str]) -> str:
    value = next((own[key] for own in document["systems"] if own["name"] == name), None)
    return "" if value is None else show(value)


def _plain(name: str) -> str:
    """A figure's name without the range that it was taken over, which differs between reports."""
    return name.partition(", mean over")[0]


def _labels(names: Sequence[str]) -> list[str]:
    """Names without the folders that all have in common."""
    parts = [name.rstrip("/").split("/") for name in names]
    depth = 0
    while all(len(own) > depth + 1 for own in parts) and len({own[depth] for own in parts}) == 1:
        depth += 1
    return ["/".join(own[depth:]) for own in parts]
