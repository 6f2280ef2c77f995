"""`index.html` of a reproduction: the paper's tables, figures and claims on one page, with ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from anyscene.evaluation.claims import Claim, bar_in_words, in_words
from anyscene.evaluation.report.figures import Drawn, draw_all
from anyscene.evaluation.report.markup import framed, html_page, html_table, picture, section
from anyscene.evaluation.report.published import TITLES
from anyscene.evaluation.report.tables import area_table, full_cost_table, paper_table
from anyscene.evaluation.report.treatment import treatment_section
from anyscene.evaluation.reproduce import Reproduced
from anyscene.evaluation.request import LAZY, UPFRONT
from anyscene.evaluation.trace_jobs import Report
from anyscene.files import write_atomically

TABLE_NUMBERS = {"camvid": 1, "stanford": 2, "siftflow": 3}

FIGURES = ("accuracy", "percentage", "gap", "miou", "loss")
"""In the paper's order, then those of its supplement."""

FIGURE_NUMBERS = {
    ("camvid", "accuracy"): "3 (a)",
    ("camvid", "percentage"): "3 (b)",
    ("camvid", "gap"): "3 (c)",
    ("stanford", "accuracy"): "4 (a)",
    ("stanford", "percentage"): "4 (b)",
    ("siftflow", "accuracy"): "4 (c)",
    ("siftflow", "percentage"): "4 (d)",
}
"""The paper's figures, by data set and what they show."""

WAYS = {UPFRONT: "tree charged first, as in the paper", LAZY: "tree charged as it grows"}

CLAIM_HEADERS = ("claim", "holds if", "the paper", WAYS[UPFRONT], "verdict", WAYS[LAZY], "verdict")


def write_reproduction(made: Sequence[Reproduced], folder: Path, report: Report) -> None:
    """Draw the figures and write the page into the report's folder."""
    parts = []
    for number, one in enumerate(made):
        name = one.evaluation.dataset.name
        report("page", number, len(made), name)
        figures = draw_all(one.evaluation.scores, one.evaluation.traces, folder / name / "figures")
        parts.append(_part(one, figures))
    ran = {one.evaluation.dataset.name for one in made}
    not_run = "".join(_table(name, None) for name in TABLE_NUMBERS if name not in ran)
    if not_run:
        lead = "As published; `anyscene reproduce` with their --data would put our rows below."
        parts.append(section("The paper's other tables", lead, not_run))
    about = ", ".join(_about(one) for one in made)
    machine = made[0].evaluation.document["machine"]
    footer = (
        f"{machine['processor']}, {machine['cores']} cores; anyscene {machine['anyscene']}; costs are "
        "milliseconds of one thread: those in the model files for anytime systems, from a calibration for "
        "the others"
    )
    page = html_page("Learning Dynamic Hierarchical Models: reproduced", about, "".join(parts), footer)
    with write_atomically(folder / "index.html") as file:
        file.write(page.encode())
    report("page", len(made), len(made), str(folder / "index.html"))


def claim_rows(claims: Mapping[str, Sequence[Claim]]) -> list[tuple[str, ...]]:
    """The table of claims: each with its bar and the paper's figure, ours and a verdict for either way."""
    return [
        (
            upfront.statement.text,
            bar_in_words(upfront.statement),
            upfront.published,
            *_measured(upfront),
            *_measured(lazy),
        )
        for upfront, lazy in zip(claims[UPFRONT], claims[LAZY], strict=True)
    ]


def _measured(claim: Claim) -> tuple[str, str]:
    figure = in_words(claim.value, claim.statement.unit)
    if claim.note:
        return figure, f"{claim.verdict}: {claim.note}"
    unsure = "" if claim.sure else ", interval crosses the bar"
    return f"{figure} ({claim.interval})", claim.verdict + unsure


def _part(one: Reproduced, figures: Mapping[str, Drawn]) -> str:
    found = one.evaluation
    name = found.dataset.name
    title = TITLES.get(name, name)
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in found.notes)
    shown = "".join(_figure(name, figures[kind]) for kind in FIGURES if kind in figures)
    return "".join(
        (
            notes,
            section(
                f"{title}: the paper's claims",
                "Pixel accuracy, pooled over images. In brackets the 95 % interval of a bootstrap that draws "
                "blocks of neighbouring images. The figure decides; where its interval crosses the bar, "
                "other images might have decided otherwise.",
                f'<div class="prose">{html_table(CLAIM_HEADERS, claim_rows(one.claims))}</div>',
            ),
            section(
                f"{title}: scores",
                f"Rows in italics are as published, on the test images of the papers. Ours are on "
                f"'{found.document['split']}', anytime methods at DCRF's mean cost and without a limit; "
                f"{WAYS[one.segmentation]}.",
                _table(name, one) + "<h3>Every system at its full cost</h3>" + full_cost_table(found.scores),
            ),
            section(
                f"{title}: accuracy against cost",
                f"Figures as in the paper, then IoU and labeling loss; {WAYS[one.segmentation]}.",
                f'<div class="pair">{shown}</div>',
            ),
            section(
                f"{title}: areas under the curves",
                "Means over log cost, in percent: how good an answer is if one is asked for at any time.",
                area_table(found.scores),
            ),
            treatment_section(found),
        )
    )


def _table(name: str, one: Reproduced | None) -> str:
    """The paper's table of a data set, with our rows if it was run."""
    if name not in TABLE_NUMBERS:
        return ""
    number = f"<p>Table {TABLE_NUMBERS[name]} of the paper.</p>"
    if one is None:
        return number + paper_table(name, {}, "", "")
    return number + paper_table(name, one.evaluation.scores, one.evaluation.document["split"], name)


def _figure(name: str, drawn: Drawn) -> str:
    number = FIGURE_NUMBERS.get((name, drawn.name))
    caption = f"Figure {number} of the paper. {drawn.caption}" if number else drawn.caption
    return framed(picture(drawn.svg, "svg+xml", caption), caption)


def _about(one: Reproduced) -> str:
    document = one.evaluation.document
    return (
        f"{TITLES.get(document['data'], document['data'])} {document['split']}: {document['images']} images"
    )
