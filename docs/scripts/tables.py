"""Put figures into README.md and docs/model-cards.md, between their markers.

    python docs/scripts/tables.py

Scores by budget come from docs/results.md (recipes/results_page.py fills it in from reports). What a model
did by the clock, its classes and its network alone come from docs/measured.json (docs/scripts/measure.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from anyscene.evaluation.report.published import TITLES

ROOT = Path(__file__).parents[2]
BUDGETS_MS = (2, 5, 10, 20, 50)
NOTHING: dict[str, Any] = {"within": {}, "network": []}
"""What is measured of a model that nothing was measured of."""

FULL_SIZE = "1000"
"""The name of the network's full input size."""

OTHERS = (
    ("ESPNet's released model", "CamVid test", "87.7 / 57.6 in 136 ms"),
    ("the paper (D-NM)", "CamVid test", "84.7 / 48.8"),
    ("the paper (D-NM)", "Stanford Background test", "83.0 / 64.7"),
    ("the paper (D-NM)", "SIFT Flow test", "85.8 / 36.7"),
)
"""Systems of others. We ran ESPNet on one thread of an EPYC; the paper's times are of another machine."""


def main() -> None:
    """Fill in both pages."""
    known = json.loads((ROOT / "docs" / "measured.json").read_text())
    measured = {name: NOTHING | known.get(name, {}) for name in TITLES}
    reports = {name: reported(name) for name in measured}
    fill(ROOT / "README.md", "scores", scores_table(measured, reports))
    for name, figures in measured.items():
        cards = ROOT / "docs" / "model-cards.md"
        fill(cards, f"budgets of {name}", budget_table(figures, reports[name]))
        fill(cards, f"classes of {name}", class_table(figures))


def reported(name: str) -> dict[str, tuple[str, ...]]:
    """The rows of a data set in docs/results.md, by their first cell: images, pixel, class, mIoU, ms."""
    page = (ROOT / "docs" / "results.md").read_text()
    section = page.split(f"<!-- {name} -->")[1].split(f"<!-- end of {name} -->")[0]
    rows = re.findall(r"^\| (.*?) \| (.*) \|$", section, re.MULTILINE)
    return {first.strip("*"): tuple(rest.split(" | ")) for first, rest in rows}


def fill(page: Path, what: str, text: str) -> None:
    """Exchange what is between the markers of a page."""
    begin, end = f"<!-- {what} -->\n", f"<!-- end of {what} -->"
    found = page.read_text()
    if found.count(begin) != 1 or found.count(end) != 1:
        raise SystemExit(f"{page} has no place for '{what}'")
    page.write_text(re.sub(f"{begin}.*?{end}", lambda _: f"{begin}\n{text}\n{end}", found, flags=re.DOTALL))


def scores_table(measured: Mapping[str, Any], reports: Mapping[str, dict[str, tuple[str, ...]]]) -> str:
    """Every model by budget, with its network alone below it, then the systems of others."""
    rows = []
    for name, figures in measured.items():
        images = f"{TITLES[name]} val"
        ours = [reports[name][f"anyscene within {budget} ms"] for budget in BUDGETS_MS]
        alone = [pair(best_within(figures, reports[name], budget)) for budget in BUDGETS_MS]
        rows.append((f"**`{name}`**", images, *(f"{pixel} / {iou}" for _, pixel, _, iou, _ in ours), ""))
        rows.append(("its network alone", images, *alone, ""))
    rows += [(system, images, *["–"] * len(BUDGETS_MS), scores) for system, images, scores in OTHERS]
    budgets = (f"{budget} ms" for budget in BUDGETS_MS)
    return table(("pixels right / mean IoU, %", "images", *budgets, "in more time"), rows)


def budget_table(figures: Mapping[str, Any], report: Mapping[str, tuple[str, ...]]) -> str:
    """The scores of a model by budget, its network alone, and what it did by the clock."""
    rows = []
    for budget in BUDGETS_MS:
        _, pixel, by_class, iou, _ = report[f"anyscene within {budget} ms"]
        alone, clock = best_within(figures, report, budget), figures["within"].get(str(budget))
        by_clock = f"{pair(clock)}, {percent(clock['late'])} % late" if clock else "not measured"
        rows.append((f"{budget} ms", pixel, by_class, iou, pair(alone), by_clock))
    heads = ("network alone: pixel / mIoU", "by the clock: pixel / mIoU")
    return table(("within", "pixel", "class", "mIoU", *heads), rows)


def class_table(figures: Mapping[str, Any]) -> str:
    """How each class fares without a limit of time, the most frequent first."""
    if "" not in figures["within"]:
        return "Not measured yet."
    classes = figures["within"][""]["classes"]
    total = sum(pixels for pixels, _, _ in classes.values())
    rows = [
        (name, percent(pixels / total), percent(found), percent(iou))
        for name, (pixels, found, iou) in sorted(classes.items(), key=lambda item: -item[1][0])
    ]
    return table(("class, without a limit", "share of pixels", "found", "IoU"), rows)


def best_within(
    figures: Mapping[str, Any], report: Mapping[str, tuple[str, ...]], budget: float
) -> Mapping[str, float] | None:
    """The best input size of the network alone that takes no longer, in milliseconds of the report."""
    _, pixel, _, iou, ms = report["CNN"]
    # Where the sizes were not measured, the report knows the full one.
    sizes = figures["network"] or [
        {"size": FULL_SIZE, "ms": float(ms), "pixel": float(pixel) / 100, "iou": float(iou) / 100}
    ]
    full = next(size["ms"] for size in sizes if size["size"] == FULL_SIZE)
    pace = full / float(ms)  # how much slower the machine was than when the report was made
    fitting: list[dict[str, float]] = [size for size in sizes if size["ms"] / pace <= budget]
    return max(fitting, key=lambda size: size["pixel"]) if fitting else None


def pair(scores: Mapping[str, float] | None) -> str:
    """Pixel accuracy and mean IoU."""
    return f"{percent(scores['pixel'])} / {percent(scores['iou'])}" if scores else "–"


def percent(share: float | None) -> str:
    """A share in percent; a dash where there is none."""
    return "–" if share is None else f"{100 * share:.1f}"


def table(headers: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A table in Markdown."""
    lines = [headers, ("---", *("---:" for _ in headers[1:])), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    main()
