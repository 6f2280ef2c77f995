"""Put the figures of `anyscene evaluate` reports into docs/results.md, between its markers.

    python recipes/results_page.py camvid=REPORT stanford=REPORT siftflow=REPORT

A data set that is not named keeps what the page says of it.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anyscene.evaluation.report.published import TABLES, TITLES
from anyscene.evaluation.results_file import read_results

PAGE = Path(__file__).parent.parent / "docs" / "results.md"
BUDGETS_MS = (2, 5, 10, 20, 50)
BY_DEADLINE = "D-NM by deadline"
SCORES = ("pixel", "class", "iou")


def main() -> None:
    """Fill in the page."""
    for argument in sys.argv[1:]:
        kind, _, folder = argument.partition("=")
        text = section(kind, read_results(Path(folder)))
        figure = Path(folder) / "figures" / "accuracy.svg"
        if figure.exists():
            target = PAGE.parent / "images" / f"results-{kind}.svg"
            shutil.copy(figure, target)
            text += f"\n![Pixel accuracy against cost](images/{target.name})\n"
        PAGE.write_text(fill(PAGE.read_text(), kind, text))


def fill(page: str, kind: str, text: str) -> str:
    """The page with another text between the markers of a data set."""
    begin, end = f"<!-- {kind} -->\n", f"<!-- end of {kind} -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        sys.exit(f"{PAGE} has no place for '{kind}'")
    return re.sub(f"{begin}.*?{end}", lambda _: f"{begin}{text}{end}", page, flags=re.DOTALL)


def section(kind: str, results: Mapping[str, Any]) -> str:
    """What the page says of a data set, in one table: the model by budget, all systems, the paper's."""
    here = f"{results['split']}, {results['images']} images"
    systems = results["systems"]
    by_deadline = [system for system in systems if system["name"] == BY_DEADLINE]
    rows = [
        (f"**anyscene within {budget} ms**", here, *_within(system["curve"], budget), f"{budget}")
        for system in by_deadline
        for budget in BUDGETS_MS
    ]
    rows += [
        (name, here, *(_percent(system[key]) for key in SCORES), f"{system['cost_ms']:.1f}")
        for system in systems
        if (name := system["name"]) != BY_DEADLINE
    ]
    rows += [(f"paper: {row.method}", "test", *map(_given, row[1:]), "–") for row in TABLES[kind]]
    processor = results["machine"]["processor"]
    return f"\nMilliseconds of one thread of an {processor}, by the {results['clock']} clock.\n\n" + _table(
        (TITLES[kind], "images", "pixel", "class", "mIoU", "ms"), rows
    )


def _within(curve: list[dict[str, float]], budget: float) -> tuple[str, str, str]:
    points = [point for point in curve if point["cost_ms"] <= budget]
    if not points:
        return "–", "–", "–"
    pixel, by_class, iou = (_percent(points[-1][key]) for key in SCORES)
    return pixel, by_class, iou


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def _given(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _table(headers: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [headers, ("---", *("---:" for _ in headers[1:])), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    main()
