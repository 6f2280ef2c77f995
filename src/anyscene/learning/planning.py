"""Which static sequences are worth following when the deadline is known: the best for their cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from anyscene.learning.corpus import Example
from anyscene.learning.guide import STEP_WORTH, Course
from anyscene.learning.pool import Proposals
from anyscene.model.plans import Plan


@dataclass(frozen=True)
class _Judged:
    """A plan and how well it labels."""

    plan: Plan
    accuracy: float


def make_plans(proposals: Proposals, examples: Sequence[Example], threads: int) -> tuple[Plan, ...]:
    """The beginnings of all sequences, and of the guide, that no cheaper one matches on these images.

    Only the last labeling of a plan is ever looked at, so it need not do what served those before: actions
    are left out one by one, as long as that makes a plan that no cheaper one matches.

    examples : images that no weak learner was fitted to.
    """
    course = Course(proposals, examples, threads)
    found: dict[tuple[int, ...], _Judged] = {}
    for sequence in sorted({*proposals.sequences, proposals.guide}):
        _judge_beginnings(course, sequence, found)
    best = _undominated(found.values())
    while True:
        thinner = {
            shorter for judged in best for shorter in _one_left_out(judged.plan.actions)
        } - found.keys()
        for sequence in sorted(thinner):
            _judge_beginnings(course, sequence, found)
        before, best = best, _undominated(found.values())
        if best == before:
            return tuple(judged.plan for judged in best)


def _judge_beginnings(
    course: Course, sequence: tuple[int, ...], found: dict[tuple[int, ...], _Judged]
) -> None:
    """Follow a sequence and add each of its beginnings that is not there yet."""
    runs = course.run(sequence)
    cost = np.mean([run.cost for run in runs], axis=0)
    accuracy = np.mean([run.accuracy for run in runs], axis=0)
    for end in range(1, len(sequence) + 1):
        plan = Plan(sequence[:end], tuple(cost[: end + 1].tolist()))
        found.setdefault(plan.actions, _Judged(plan, float(accuracy[end])))


def _one_left_out(actions: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [actions[:at] + actions[at + 1 :] for at in range(len(actions))] if len(actions) > 1 else []


def _undominated(judged: Iterable[_Judged]) -> list[_Judged]:
    """From the cheapest on, those that label surely better than any before."""
    best: list[_Judged] = []
    for each in sorted(judged, key=lambda each: (each.plan.cost[-1], -each.accuracy, len(each.plan.actions))):
        if not best or each.accuracy > best[-1].accuracy + STEP_WORTH:
            best.append(each)
    return best
