"""What `anyscene label` says in the end: what was labelled, what is seen, what was not labelled and why."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING

from rich.text import Text

from anyscene.apps.console import console, emit_json, table
from anyscene.familiarity import WARNING
from anyscene.outputs.records import RECORDS, Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyscene.apps.label_jobs import Done
    from anyscene.apps.sources import Found

NAMES = {
    "labelled": "images labelled",
    "labelled_before": "labelled before",
    "failed": "could not be labelled",
    "passed_over": "not a picture or video by name",
    "mean_ms": "mean time, ms",
    "median_ms": "median time, ms",
    "largest_ms": "longest time, ms",
    "deadlines_met": "deadlines met",
    "priors": "no time to look at",
}

LEAST_SHARE = 0.0005
"""A class with less of the pixels would be told as 0.0 %; its record has it all the same."""


def report(done: Sequence[Done], found: Found, output: Path, json: str | None) -> bool:
    """Show what was done, and what was not and why; tell whether everything was labelled."""
    records = [record for item in done for record in item.records]
    missing = [
        Record(text, "failed", error=f"{text}: there is no such file or folder; check the path")
        for text in found.missing
    ]
    problems = [record for record in (*records, *missing) if record.status == "failed"]
    labelled = [record for record in records if record.status == "labelled"]
    screen = console(json)
    if len(records) == 1 and labelled:
        _show_one(labelled[0], json)
    elif [record.status for record in records] == ["kept"]:
        kept = f"{records[0].file} -> {records[0].result}, labelled before; --redo labels it again"
        screen.print(kept, markup=False, soft_wrap=True)
    else:
        screen.print(
            table(f"results in {output}", ("what", "value"), _rows(_summary(records, problems, found)))
        )
        if labelled:
            screen.print(f"seen: {_seen(_mean_shares(labelled))}", markup=False, soft_wrap=True)
        screen.print(f"each image: {output / RECORDS}", markup=False, soft_wrap=True)
    strange = [one for one in labelled if one.familiarity is not None and one.familiarity < WARNING]
    if strange:
        more = f" and {len(strange) - 1} more are" if len(strange) > 1 else " is"
        text = f"{strange[0].file}{more} unlike anything the model was trained on: do not trust the labels"
        console("-").print(Text.assemble(("note: ", "bold"), text), soft_wrap=True)
    for text in _grouped(problems):
        console("-").print(Text.assemble(("not labelled: ", "bold red"), text), soft_wrap=True)
    summary = _summary(records, problems, found)
    emit_json(
        {
            **summary,
            "problems": [{"path": record.file, "problem": record.error} for record in problems],
            "records": [record.to_dict() for record in (*records, *missing)],
        },
        json,
    )
    return not problems


def _summary(
    records: Sequence[Record], problems: Sequence[Record], found: Found
) -> dict[str, float | int | None]:
    labelled = [record for record in records if record.status == "labelled"]
    costs = [record.ms for record in labelled if record.ms is not None]
    deadlines = [record.deadline_met for record in labelled if record.deadline_met is not None]
    return {
        "labelled": len(labelled),
        "labelled_before": sum(record.status == "kept" for record in records),
        "failed": len(problems),
        "passed_over": found.passed_over,
        "mean_ms": mean(costs) if costs else None,
        "median_ms": median(costs) if costs else None,
        "largest_ms": max(costs) if costs else None,
        "deadlines_met": mean(deadlines) if deadlines else None,
        "priors": sum(record.is_prior for record in labelled) or None,
    }


def _rows(summary: dict[str, float | int | None]) -> list[tuple[str, object]]:
    return [
        (NAMES[key], f"{value:.1%}" if "met" in key else value if isinstance(value, int) else f"{value:.1f}")
        for key, value in summary.items()
        if value is not None
    ]


def _show_one(record: Record, json: str | None) -> None:
    """One image: where its labels are, and what is seen in it."""
    screen = console(json)
    late = ", after the deadline" if record.deadline_met is False else ""
    prior = "; there was no time to look at it: this is the prior" if record.is_prior else ""
    screen.print(f"{record.file} -> {record.result}", markup=False, soft_wrap=True)
    sure = f", {record.confidence:.0%} sure" if record.confidence is not None else ""
    screen.print(
        f"{record.width}x{record.height} in {record.ms:.1f} ms{late}{sure}{prior}: {_seen(record.shares)}",
        markup=False,
        soft_wrap=True,
    )


def _mean_shares(records: Sequence[Record]) -> dict[str, float]:
    total: Counter[str] = Counter()
    for record in records:
        total.update(record.shares)
    return {name: share / len(records) for name, share in total.items()}


def _seen(shares: Mapping[str, float]) -> str:
    ordered = sorted(shares.items(), key=lambda one: -one[1])
    return ", ".join(f"{name} {share:.1%}" for name, share in ordered if share >= LEAST_SHARE) or "nothing"


def _grouped(problems: Sequence[Record]) -> list[str]:
    """Problems as sentences; what went wrong for many files alike is told once."""
    alike: dict[str, list[Record]] = {}
    for record in problems:
        alike.setdefault(str(record.error).replace(record.file, ""), []).append(record)
    told = []
    for same in alike.values():
        more = f" (and {len(same) - 1} more for the same reason)" if len(same) > 1 else ""
        told.append(f"{same[0].error}{more}")
    return told
