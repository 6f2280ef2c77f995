"""Which static sequences are worth following when the deadline is known: the best for their cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anyscene.learning.corpus import Example
from anyscene.learning.guide import STEP_WORTH, Course
from anyscene.learning.pool import Proposals
from anyscene.model.plans import Plan


def make_plans(proposals: Proposals, examples: Sequence[Example], threads: int) -> tuple[Plan, ...]:
    """The beginnings of all sequences, and of guides, that no cheaper one matches on these images.

    examples : images that no weak learner was fitted to.
    """
    course = Course(proposals, examples, threads)
    found: dict[tuple[int, ...], tuple[float, Plan]] = {}
    for sequence in sorted({*proposals.sequences, *proposals.guides}):
        runs = course.run(sequence)
        cost = np.mean([run.cost for run in runs], axis=0)
        accuracy = np.mean([run.accuracy for run in runs], axis=0)
        for end in range(1, len(sequence) + 1):
            plan = Plan(sequence[:end], tuple(cost[: end + 1].tolist()))
            found.setdefault(plan.actions, (float(accuracy[end]), plan))
    best = -np.inf
    plans = []
    for accuracy_there, plan in sorted(found.values(), key=lambda item: (item[1].cost[-1], -item[0])):
        if accuracy_there > best + STEP_WORTH:
            best = accuracy_there
            plans.append(plan)
    return tuple(plans)
