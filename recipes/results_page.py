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

from anyscene.evaluation.headline import describe
from anyscene.evaluation.report.published import TABLES, TITLES
from anyscene.evaluation.results_file import read_results

PAGE = Path(__file__).parent.parent / "docs" / "results.md"
BUDGETS_MS = (2, 5, 10, 20, 50, 100)


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
    """What the page says of a data set: all systems and the paper's, the anytime figures, how it was made."""
    systems = results["systems"]
    ours = [
        (
            system["name"],
            *(_percent(system[key]) for key in ("pixel", "class", "iou")),
            f"{system['cost_ms']:.1f}",
        )
        for system in systems
    ]
    paper = [
        (row.method, *("–" if value is None else f"{value:.1f}" for value in row[1:])) for row in TABLES[kind]
    ]
    anytime = [system for system in systems if system["name"] in ("D-NM", "D-NM by deadline")]
    curves = [
        _table(
            (f"{system['name']} within, ms", "pixel", "class", "mIoU"),
            [(f"{budget}", *_within(system["curve"], budget)) for budget in BUDGETS_MS],
        )
        for system in anytime
    ]
    machine = results["machine"]
    return "\n".join(
        (
            f"\n{results['images']} images of `{results['split']}`; costs by the {results['clock']} clock, "
            f"one thread of a {machine['processor']}.\n",
            _table((f"here, {TITLES[kind]} {results['split']}", "pixel", "class", "mIoU", "ms"), ours),
            _table(("the paper, official test images", "pixel", "class", "mIoU"), paper),
            *curves,
            _table(("figure", "value"), describe(results["headline"])),
        )
    )


def _within(curve: list[dict[str, float]], budget: float) -> tuple[str, str, str]:
    points = [point for point in curve if point["cost_ms"] <= budget]
    if not points:
        return "–", "–", "–"
    pixel, by_class, iou = (_percent(points[-1][key]) for key in ("pixel", "class", "iou"))
    return pixel, by_class, iou


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def _table(headers: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [headers, ("---", *("---:" for _ in headers[1:])), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    main()
