"""How images were treated, and why differently: what D-NM did on some and what it saw then, beside S-M."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape

import numpy as np
from numpy.typing import NDArray

from anyscene.data import Scene
from anyscene.engine.learned import describe_action
from anyscene.evaluation.evaluate import Evaluation
from anyscene.evaluation.report.gallery import Gallery, cell, label_map, painter, photo
from anyscene.evaluation.report.markup import html_table, section
from anyscene.evaluation.traces import Trace
from anyscene.model.state import State

SHOWN = 4

DOUBTFUL = 0.6
"""Leaves of more entropy than this, in nats, count as doubtful; one of the paper's thresholds of splits."""

EDGE = (255, 220, 0)
"""The colour of outlines."""


@dataclass(frozen=True)
class Moment:
    """What a state looked like. doubtful : the share of the image in doubtful leaves. leaves : how many."""

    cost: float
    accuracy: float
    entropy: float
    doubtful: float
    leaves: int


def treatment_section(found: Evaluation) -> str:
    """Four images on which D-NM acted most differently, step by step."""
    ours, static = found.traces["D-NM"], found.traces["S-M"]
    gallery = Gallery(found.trained)
    told = "".join(
        _treated(found, gallery, found.scenes[i], ours[i], static[i]) for i in unlike(ours, static, SHOWN)
    )
    title, lead = introduction(ours, static)
    doubtful = f" Doubtful is the share of the image in leaves whose entropy is above {DOUBTFUL} nats."
    return section(title, lead + doubtful, told)


def introduction(ours: Sequence[Trace], static: Sequence[Trace]) -> tuple[str, str]:
    """The section's title, and how differently images were treated in all."""
    kinds = len({tuple(trace.actions.tolist()) for trace in ours})
    same = sum(np.array_equal(a.actions, b.actions) for a, b in zip(ours, static, strict=True))
    if kinds == 1:
        whose = "S-M's" if same else "not S-M's"
        return (
            "How images were treated",
            f"D-NM took the same actions on all {len(ours)} images, {whose}: learning kept no policy that "
            "decides for each image. Below are images of different accuracy.",
        )
    return (
        "Why these images were treated differently",
        f"On {len(ours)} images D-NM took {kinds} different sequences of actions, and S-M's on {same}. Below "
        "are images with sequences as different as can be. The row from which D-NM goes its own way is "
        "marked.",
    )


def unlike(ours: Sequence[Trace], static: Sequence[Trace], count: int) -> list[int]:
    """Images with sequences as different as can be: the one most like S-M's, then always the most unlike.

    Where sequences are equal, images of different accuracy.
    """
    actions = [trace.actions.tolist() for trace in ours]
    accuracy = [float(trace.pixel_accuracy()[-1]) for trace in ours]

    def apart(a: int, b: int) -> float:
        return _unlikeness(actions[a], actions[b]) + 1e-3 * abs(accuracy[a] - accuracy[b])

    departures = [
        _unlikeness(own, other.actions.tolist()) for own, other in zip(actions, static, strict=True)
    ]
    chosen = [int(np.argmin(departures))]
    nearest = np.array([apart(chosen[0], i) for i in range(len(ours))])
    while len(chosen) < min(count, len(ours)):
        nearest[chosen] = -1
        chosen.append(int(np.argmax(nearest)))
        nearest = np.minimum(nearest, [apart(chosen[-1], i) for i in range(len(ours))])
    return chosen


def departure(ours: Sequence[int], static: Sequence[int]) -> int | None:
    """The first step in which two sequences differ; None if they do not."""
    for step, (one, other) in enumerate(zip(ours, static, strict=False)):
        if one != other:
            return step
    return None if len(ours) == len(static) else min(len(ours), len(static))


def moments(trace: Trace, states: Sequence[State]) -> list[Moment]:
    """What each state of a run looked like."""
    accuracy = trace.pixel_accuracy()
    return [
        Moment(
            float(trace.cost[k]),
            float(accuracy[k]),
            float(state.area @ state.entropy),
            float(state.area[state.entropy > DOUBTFUL].sum()),
            len(state.leaves),
        )
        for k, state in enumerate(states)
    ]


def _unlikeness(one: Sequence[int], other: Sequence[int]) -> float:
    return 1 - SequenceMatcher(None, one, other, autojunk=False).ratio()


def _treated(found: Evaluation, gallery: Gallery, scene: Scene, ours: Trace, static: Trace) -> str:
    image, states = gallery.replay(scene, ours)
    apart = departure(ours.actions.tolist(), static.actions.tolist())
    model, classes = found.trained.model, found.trained.classes
    leaves = painter(image, states[-1].leaves)(np.arange(len(states[-1].leaves), dtype=np.int32))
    shown = model.shown(states[-1], image.evidence)
    labels = painter(image, shown.nodes)(shown.labels.astype(np.int16))
    assert scene.truth is not None
    seen = moments(ours, states)
    end = seen[-1]
    cells = (
        cell(photo(scene.image), scene.id, ""),
        cell(photo(_outlined(scene.image, leaves)), "D-NM's leaves at its end", f"{end.leaves} of them"),
        cell(label_map(labels, classes), "its labels", f"{end.accuracy:.1%} right after {end.cost:.1f} ms"),
        cell(label_map(scene.truth, classes), "truth", "black: unknown"),
    )
    return (
        f"<h3>{escape(scene.id)}</h3><p>{escape(_reason(found, ours, static, seen, apart))}</p>"
        f'<div class="strip">{"".join(cells)}</div><div class="pair">'
        f"<div><h3>D-NM</h3>{_table(found, ours, seen, apart)}</div>"
        f"{_beside(found, gallery, scene, static) if apart is not None else ''}</div>"
    )


def _beside(found: Evaluation, gallery: Gallery, scene: Scene, static: Trace) -> str:
    """What S-M did on the same image."""
    _, states = gallery.replay(scene, static)
    return f"<div><h3>S-M</h3>{_table(found, static, moments(static, states), None)}</div>"


def _reason(found: Evaluation, ours: Trace, static: Trace, seen: Sequence[Moment], apart: int | None) -> str:
    """In one sentence: where D-NM departs from S-M, and what it saw there."""
    if apart is None:
        return "D-NM does as S-M does."
    before = seen[apart]
    does = _action(found, ours, apart) if apart < len(ours.actions) else "stops"
    instead = _action(found, static, apart) if apart < len(static.actions) else "stop"
    return (
        f"After {before.cost:.1f} ms {before.doubtful:.0%} of the image is doubtful (mean entropy "
        f"{before.entropy:.2f} nats). D-NM's next step: {does}. S-M's: {instead}."
    )


def _table(found: Evaluation, trace: Trace, seen: Sequence[Moment], apart: int | None) -> str:
    rows = [
        (
            _action(found, trace, step - 1) if step else "the prior",
            f"{moment.cost:.1f}",
            f"{100 * moment.accuracy:.1f}",
            f"{moment.entropy:.2f}",
            f"{100 * moment.doubtful:.0f}",
            str(moment.leaves),
        )
        for step, moment in enumerate(seen)
    ]
    marks = ["ours" if apart is not None and step == apart + 1 else "" for step in range(len(rows))]
    return html_table(("action", "ms", "right, %", "entropy", "doubtful, %", "leaves"), rows, marks)


def _action(found: Evaluation, trace: Trace, step: int) -> str:
    pool = found.trained.model.pool
    return describe_action(pool.actions[int(trace.actions[step])], pool)


def _outlined(image: NDArray[np.uint8], leaf: NDArray[np.int32]) -> NDArray[np.uint8]:
    edge = np.zeros(leaf.shape, bool)
    edge[:, 1:] |= leaf[:, 1:] != leaf[:, :-1]
    edge[1:] |= leaf[1:] != leaf[:-1]
    return np.where(edge[..., None], np.array(EDGE, np.uint8), image)
