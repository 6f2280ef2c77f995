"""`index.html`: one page, by itself, that a person can read an evaluation off."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path

import numpy as np

from anyscene import metrics
from anyscene.data import Scene
from anyscene.data.splits import evenly_spread
from anyscene.evaluation.evaluate import Evaluation
from anyscene.evaluation.headline import describe
from anyscene.evaluation.report.figures import Drawn, draw_all
from anyscene.evaluation.report.gallery import BUDGETS, Gallery, legend
from anyscene.evaluation.report.markup import framed, html_page, html_table, picture, section
from anyscene.evaluation.report.published import TABLES, TITLES
from anyscene.evaluation.report.tables import (
    area_table,
    class_table,
    full_cost_table,
    largest_confusions,
    paper_table,
)
from anyscene.evaluation.request import UPFRONT, WALL_CLOCK
from anyscene.evaluation.trace_jobs import Report
from anyscene.evaluation.traces import Trace
from anyscene.files import write_atomically

SHOWN = 4
FAILURES = 3


def write_report(found: Evaluation, folder: Path, report: Report) -> None:
    """Draw the figures into `figures` and write `index.html`."""
    report("page", 0, 1, "figures")
    figures = draw_all(found.scores, found.traces, folder / "figures")
    report("page", 0, 1, "pictures")
    document = found.document
    about = f"{found.dataset.name}, {document['split']}: {document['images']} images"
    body = "".join(
        (
            _notes(found),
            _cards(found),
            _curves(figures),
            section(
                "Every system at its full cost",
                "Scores are pooled over all pixels of known truth; costs are milliseconds of one thread, "
                "from the decoded image to the label map.",
                full_cost_table(found.scores),
            ),
            section("Headline figures", "", html_table(("figure", "value"), describe(document["headline"]))),
            section(
                "Areas under the curves",
                "Means over log cost, in percent: how good an answer is if one is asked for at any time.",
                area_table(found.scores),
            ),
            section(
                "Classes",
                "Intersection over union of each class, in percent, at full cost.",
                class_table(found.scores, found.dataset.classes),
            ),
            _paper(found),
            _pictures(found),
        )
    )
    page = html_page("Anytime scene labeling", about, body, _footer(found))
    with write_atomically(folder / "index.html") as file:
        file.write(page.encode())
    report("page", 1, 1, str(folder / "index.html"))


def _notes(found: Evaluation) -> str:
    return "".join(f'<p class="note">{escape(note)}</p>' for note in found.notes)


def _cards(found: Evaluation) -> str:
    """The few numbers that one should take away."""
    cards = []
    if ours := found.scores.get("D-NM"):
        cards.append((f"{100 * float(ours.final.pixel[0]):.1f} %", "pixel accuracy of D-NM, no limit"))
        cards.append((f"{100 * float(ours.final.iou[0]):.1f} %", "its mean IoU"))
        cards.append((f"{ours.cost_ms:.1f} ms", "its mean cost when it stops by itself"))
    figures = found.document["headline"]
    for share in ("90", "100"):
        if (value := figures.get("him_cost_share", {}).get(share)) is not None:
            cards.append((f"{100 * value:.1f} %", f"of HIM's cost for {share} % of HIM's accuracy"))
    if (ratio := figures.get("sm_cost_ratio", {}).get("best")) is not None:
        cards.append((f"{ratio:.2f} ×", "S-M's cost for S-M's best accuracy − 0.1"))
    if (mean := figures.get("frontier", {}).get("mean_difference")) is not None:
        cards.append((f"{100 * mean:+.2f}", "points against the network alone, mean over log cost"))
    made = "".join(f'<div class="card"><b>{escape(b)}</b><span>{escape(w)}</span></div>' for b, w in cards)
    return f'<div class="cards">{made}</div>' if cards else ""


def _curves(figures: Mapping[str, Drawn]) -> str:
    def shown(name: str) -> str:
        drawn = figures.get(name)
        return framed(picture(drawn.svg, "svg+xml", drawn.caption), drawn.caption) if drawn else ""

    others = "".join(shown(name) for name in ("percentage", "gap", "miou", "loss"))
    return section(
        "Accuracy against cost",
        "An anytime labeler has an answer at every cost: up and to the left is better.",
        f'{shown("accuracy")}<p></p><div class="pair">{others}</div>',
    )


def _paper(found: Evaluation) -> str:
    measured = found.dataset.name
    order = [measured, *(name for name in TITLES if name != measured)] if measured in TITLES else list(TITLES)
    tables = "".join(
        paper_table(name, found.scores, found.document["split"], measured) for name in order if name in TABLES
    )
    return section(
        "The paper's tables",
        "Rows in italics are as published, on the test images of the papers; ours are on the images of this "
        "report, so they stand beside, not against, them. Anytime methods are shown at "
        "DCRF's mean cost, as in the paper, and without a limit.",
        tables,
    )


def _pictures(found: Evaluation) -> str:
    traces = found.traces.get("D-NM")
    if not traces:
        return ""
    gallery = Gallery(found.trained)
    accuracy = np.array([metrics.pixel_accuracy(trace.counts[-1]) for trace in traces])
    order = np.argsort(accuracy)
    spread = order[evenly_spread(len(order), SHOWN)][::-1]
    budgets = _budgets(traces)
    strips = "".join(gallery.strip(_scene(found, i), traces[i], budgets) + "<p></p>" for i in spread.tolist())
    worst = "".join(
        gallery.errors(_scene(found, i), traces[i]) + "<p></p>" for i in order[:FAILURES].tolist()
    )
    classes = found.dataset.classes
    confused = largest_confusions(found.scores["D-NM"].final.counts[0], classes)
    rows = [(f"{truth} taken for {label}", f"{100 * share:.1f} %") for truth, label, share in confused]
    return section(
        "On the way",
        "Images from the best to the worst labeled, with D-NM's labels within four budgets and the actions "
        "that it took in between.",
        legend(classes) + strips,
    ) + section(
        "Where it fails",
        "What D-NM's errors are, by share of all pixels that are wrong, and the images with most of them.",
        html_table(("confusion", "share of errors"), rows) + "<p></p>" + worst,
    )


def _budgets(traces: list[Trace]) -> list[float]:
    """Even in log cost from the first labels to the usual end."""
    first = float(np.median([trace.cost[min(1, len(trace.cost) - 1)] for trace in traces]))
    last = float(np.quantile([trace.cost[-1] for trace in traces], 0.9))
    return [float(f"{budget:.2g}") for budget in np.geomspace(1.3 * first, max(last, 1.3 * first), BUDGETS)]


def _scene(found: Evaluation, index: int) -> Scene:
    return found.scenes[index]


def _footer(found: Evaluation) -> str:
    machine, document = found.document["machine"], found.document
    clock = (
        "costs are wall-clock times of this machine"
        if document["clock"] == WALL_CLOCK
        else "costs of anytime systems are those in the model file, those of the others from a calibration"
    )
    tree = "; the whole tree is charged first" if document["segmentation"] == UPFRONT else ""
    return (
        f"model {document['model']}; {clock}{tree}; {machine['processor']}, {machine['cores']} cores; "
        f"anyscene {machine['anyscene']}, Python {machine['python']}"
    )
