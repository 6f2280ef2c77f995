"""Which static sequences are worth following when the deadline is known: the best for their cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anyscene.learning.corpus import Example
from anyscene.learning.judging import LIKELY, STEP_WORTH, merit, merits_by_image, surely_above
from anyscene.learning.proposals.guide import Course
from anyscene.learning.proposals.pool import Proposals
from anyscene.policy.plans import Plan


def make_plans(proposals: Proposals, examples: Sequence[Example], threads: int) -> tuple[Plan, ...]:
    """The beginnings of all sequences, and of guides, that likely label better than all that cost less.

    Better by pixel accuracy and mean IoU together (`merit`).

    examples : as many that weak learners were fitted to as others: a new image may be like either, and chains
    of trees that are good on one kind alone show on the other.
    """
    course = Course(proposals, examples, threads)
    found: dict[tuple[int, ...], tuple[NDArray[np.float64], Plan]] = {}
    for sequence in sorted({*proposals.sequences, *proposals.guides}):
        runs = course.run(sequence)
        cost = np.mean([run.cost for run in runs], axis=0)
        for end in range(1, len(sequence) + 1):
            plan = Plan(sequence[:end], tuple(cost[: end + 1].tolist()))
            if plan.actions not in found:
                found[plan.actions] = (merits_by_image(course.confusions(sequence, end)), plan)
    best = np.zeros(len(examples))
    plans: list[Plan] = []
    for reached, plan in sorted(found.values(), key=lambda item: (item[1].cost[-1], -item[0].mean())):
        if not plans or surely_above(reached - best, STEP_WORTH, LIKELY):
            best = reached
            plans.append(plan)
    return tuple(plans)


def end_with_guide(proposals: Proposals, guide: tuple[int, ...], threads: int) -> tuple[Plan, ...]:
    """The plans and, after them, the guide of the policy, if it ends better on all held-out images.

    A distant deadline must not give less than none, when the policy follows its guide.
    """
    course = Course(proposals, proposals.model.corpus.held_out, threads)
    last = proposals.plans[-1].actions
    ends = (course.confusions(sequence, len(sequence)).sum(axis=0) for sequence in (guide, last))
    if merit(next(ends)) <= merit(next(ends)):
        return proposals.plans
    cost = np.mean([run.cost for run in course.run(guide)], axis=0)
    return (*proposals.plans, Plan(guide, tuple(cost.tolist())))
