"""Put the claims of an `anyscene reproduce` report into docs/paper.md, between its markers.

python recipes/claims_page.py REPORT
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anyscene.evaluation.report.published import TITLES
from anyscene.evaluation.reproduce import RESULTS
from anyscene.evaluation.request import LAZY, UPFRONT

PAGE = Path(__file__).parent.parent / "docs" / "paper.md"
BEGIN, END = "<!-- claims -->\n", "<!-- end of claims -->"


def main(report: Path) -> None:
    """Fill in the page."""
    parts = json.loads((report / RESULTS).read_text())["data"]
    text = "\n".join(section(part) for part in parts)
    PAGE.write_text(re.sub(f"{BEGIN}.*?{END}", lambda _: f"{BEGIN}{text}{END}", PAGE.read_text(), flags=re.S))


def section(part: Mapping[str, Any]) -> str:
    """One data set: how it was run, and a row for each claim."""
    rows = [
        (
            first["claim"],
            first["bar"],
            first["paper"],
            *(words for claim in (first, second) for words in (measured(claim), verdict(claim))),
        )
        for first, second in zip(part["claims"][UPFRONT], part["claims"][LAZY], strict=True)
    ]
    columns = ("claim", "holds if", "the paper", "tree charged first", "", "tree charged as it grows", "")
    lines = [columns, ("---",) * len(columns), *rows]
    title = TITLES.get(part["data"], part["data"])
    machine = part["machine"]
    return (
        f"\n{title}: {part['images']} images of `{part['split']}`, one thread of {machine['processor']}, "
        f"anyscene {machine['anyscene']}.\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)
    )


def measured(claim: Mapping[str, Any]) -> str:
    """Our figure with its 95 % interval."""
    return claim["ours"] if claim["note"] else f"{claim['ours']} ({claim['interval']})"


def verdict(claim: Mapping[str, Any]) -> str:
    """Whether the claim holds, and whether other images might have said otherwise."""
    if claim["note"]:
        return f"{claim['verdict']}: {claim['note']}"
    return f"**{claim['verdict']}**" if claim["sure"] else f"{claim['verdict']}, interval crosses the bar"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
