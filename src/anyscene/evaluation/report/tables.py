"""The tables of a report: full cost, areas under curves, classes, the paper's three."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from anyscene import metrics
from anyscene.data import Classes
from anyscene.evaluation.compared_systems import BY_NAME
from anyscene.evaluation.report.markup import html_table
from anyscene.evaluation.report.published import TABLES, TITLES, Row
from anyscene.evaluation.scores import Curve, Scores, point_at, step_values

OURS = "D-NM"

CONFUSIONS = 8
"""The most confusions that are listed."""


def full_cost_table(scores: Mapping[str, Scores]) -> str:
    """Every system when it goes all the way."""
    rows = [
        (name, BY_NAME[name].what, *_percentages(own.final), f"{own.final.loss[0]:.3f}", f"{own.cost_ms:.1f}")
        for name, own in scores.items()
    ]
    marks = ["ours" if name == OURS else "" for name in scores]
    return html_table(("system", "", "pixel, %", "class, %", "mIoU, %", "loss", "ms"), rows, marks)


def area_table(scores: Mapping[str, Scores]) -> str:
    """Mean scores over log cost, from the first label to the largest cost of any anytime system."""
    anytime = {name: own for name, own in scores.items() if own.anytime}
    if not anytime:
        return ""
    first = min(float(own.curve.cost[0]) for own in anytime.values())
    last = max(float(own.curve.cost[-1]) for own in anytime.values())
    him = scores.get("HIM")
    rows = []
    for name, own in anytime.items():
        budgets = np.geomspace(first, last, 512)
        means = [
            step_values(own.curve.cost, values, budgets).mean()
            for values in (own.curve.pixel, own.curve.class_mean, own.curve.iou)
        ]
        linear = (
            step_values(own.curve.cost, own.curve.pixel, np.linspace(first, him.cost_ms, 512))
            if him
            else None
        )
        rows.append(
            (
                name,
                *(f"{100 * mean:.2f}" for mean in means),
                "" if linear is None else f"{100 * linear.mean():.2f}",
            )
        )
    marks = ["ours" if name == OURS else "" for name in anytime]
    return html_table(("system", "pixel", "class", "mIoU", "pixel, over plain cost up to HIM's"), rows, marks)


def class_table(scores: Mapping[str, Scores], classes: Classes) -> str:
    """IoU of every class, a column for each system at its full cost."""
    shown = {name: own for name, own in scores.items() if name != "Data term"}
    by_system = [metrics.per_class(own.final.counts[0], classes) for own in shown.values()]
    total = sum(score.pixels for score in by_system[0])
    rows = []
    for index, own in enumerate(by_system[0]):
        cells = [scored[index].iou for scored in by_system]
        texts = ["–" if np.isnan(value) else f"{100 * value:.1f}" for value in cells]
        rows.append((own.name, f"{100 * own.pixels / max(total, 1):.1f}", *texts))
    return html_table(("class", "% of pixels", *shown), rows)


def paper_table(data: str, scores: Mapping[str, Scores], split: str, measured: str) -> str:
    """One of the paper's tables, our rows below the published ones.

    data : which table. measured : the data set that our scores are of; other tables show published rows only.
    """
    rows = [(f"{row.method}, published", *_published(row), "") for row in TABLES[data]]
    marks = ["published"] * len(rows)
    if data == measured:
        for name, own in _ours(scores):
            rows.append((f"{name}, here on {split}", *_percentages(own), f"{own.cost[0]:.1f}"))
            marks.append("ours" if name.startswith(OURS) else "")
    return f"<h3>{TITLES[data]}</h3>" + html_table(
        ("method", "pixel, %", "class, %", "mIoU, %", "ms"), rows, marks
    )


def _ours(scores: Mapping[str, Scores]) -> list[tuple[str, Curve]]:
    """Full-cost systems as they are; anytime ones at DCRF's mean cost and without limit."""
    rows = [(name, scores[name].final) for name in ("DCRF", "H-DCRF", "HIM", "CNN") if name in scores]
    for name in ("S-M", "F-SM", "D-NM"):
        if name not in scores:
            continue
        if "DCRF" in scores:
            point = point_at(scores[name].curve, scores["DCRF"].cost_ms)
            if point is not None:
                rows.append((f"{name} at DCRF's cost", point))
        rows.append((f"{name}, no limit", scores[name].final))
    return rows


def _percentages(curve: Curve) -> tuple[str, str, str]:
    pixel, class_mean, iou = (f"{100 * float(v[0]):.2f}" for v in (curve.pixel, curve.class_mean, curve.iou))
    return pixel, class_mean, iou


def _published(row: Row) -> tuple[str, str, str]:
    pixel, class_mean, iou = ("NA" if v is None else f"{v:.1f}" for v in row[1:])
    return pixel, class_mean, iou


def largest_confusions(counts: metrics.Counts, classes: Classes) -> list[tuple[str, str, float]]:
    """The (truth, label) pairs that cost most pixels, with their share of all errors."""
    errors = counts[:, : len(classes)].copy()
    np.fill_diagonal(errors, 0)
    order: Sequence[int] = np.argsort(errors, axis=None)[::-1][:CONFUSIONS].tolist()
    total = max(int(errors.sum()), 1)
    pairs = [divmod(index, len(classes)) for index in order]
    return [
        (classes.names[truth], classes.names[label], float(errors[truth, label] / total))
        for truth, label in pairs
        if errors[truth, label]
    ]
