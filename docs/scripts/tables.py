"""Put the figures of docs/measured.json into README.md and docs/model-cards.md, between their markers.

    python docs/scripts/tables.py

`docs/scripts/measure.py` makes the figures.
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
DETAIL_MS = "20"
"""The budget at which the scores of each class are listed."""

OTHERS = (
    ("ESPNet, its released CamVid model", "CamVid official test", "87.7 / 57.6 in 136 ms"),
    ("the paper (D-NM)", "CamVid official test", "84.7 / 48.8, time not comparable"),
    ("the paper (D-NM)", "Stanford official test", "83.0 / 64.7, time not comparable"),
    ("the paper (D-NM)", "SIFT Flow official test", "85.8 / 36.7, time not comparable"),
)
"""Systems of others; ESPNet was run by us on one thread of an EPYC."""


def main() -> None:
    """Fill in both pages."""
    measured = json.loads((ROOT / "docs" / "measured.json").read_text())
    fill(ROOT / "README.md", "scores", scores_table(measured))
    for name, figures in measured.items():
        fill(ROOT / "docs" / "model-cards.md", f"budgets of {name}", budget_table(figures))
        fill(ROOT / "docs" / "model-cards.md", f"classes of {name}", class_table(figures))


def fill(page: Path, what: str, text: str) -> None:
    """Exchange what is between the markers of a page."""
    begin, end = f"<!-- {what} -->\n", f"<!-- end of {what} -->"
    found = page.read_text()
    if found.count(begin) != 1 or found.count(end) != 1:
        raise SystemExit(f"{page} has no place for '{what}'")
    page.write_text(re.sub(f"{begin}.*?{end}", lambda _: f"{begin}\n{text}\n{end}", found, flags=re.DOTALL))


def scores_table(measured: Mapping[str, Any]) -> str:
    """Every model by budget, with its network alone below it, then the systems of others."""
    rows = []
    for name, figures in measured.items():
        images = f"{TITLES[figures['data']]} {figures['split']}"
        within = [pair(figures["within"][str(budget)]) for budget in BUDGETS_MS]
        alone = [pair(best_within(figures["network"], budget)) for budget in BUDGETS_MS]
        rows += [(f"**`{name}`**", images, *within), ("its network alone", images, *alone)]
    rows += [(system, images, scores, "", "", "", "") for system, images, scores in OTHERS]
    return table(("pixels right / mean IoU, %", "images", *(f"{budget} ms" for budget in BUDGETS_MS)), rows)


def budget_table(figures: Mapping[str, Any]) -> str:
    """All scores of a model by budget, and its network alone."""
    rows = []
    for budget, scores in figures["within"].items():
        alone = best_within(figures["network"], float(budget or "inf"))
        ours = [percent(scores[key]) for key in ("pixel", "class", "iou")]
        named = f"{budget} ms" if budget else "no limit"
        late = percent(scores["late"]) if budget else "–"
        rows.append((named, *ours, f"{scores['median_ms']:.1f} ms", late, pair(alone)))
    return table(
        ("within", "pixel", "class", "mIoU", "median time", "late", "network alone: pixel / mIoU"), rows
    )


def class_table(figures: Mapping[str, Any]) -> str:
    """How each class fares within one budget and without a limit, the most frequent first."""
    soon, late = (figures["within"][budget]["classes"] for budget in (DETAIL_MS, ""))
    total = sum(pixels for pixels, _, _ in late.values())
    rows = [
        (name, percent(pixels / total), *map(percent, soon[name][1:]), percent(found), percent(iou))
        for name, (pixels, found, iou) in sorted(late.items(), key=lambda item: -item[1][0])
    ]
    heads = (f"found, {DETAIL_MS} ms", f"IoU, {DETAIL_MS} ms", "found, no limit", "IoU, no limit")
    return table(("class", "share of pixels", *heads), rows)


def best_within(sizes: Sequence[Mapping[str, float]], budget: float) -> Mapping[str, float] | None:
    """The most accurate of the input sizes that take no longer."""
    fitting = [size for size in sizes if size["ms"] <= budget]
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
