"""Splits that leave sure leaves closed, where opening them gains nothing.

A sequence is chosen by rewards, and a split that opens every leaf earns impurity in leaves that are sure of
their label, too. On the way a closed leaf misses the features that come next, so that early splits hardly
ever change. A last one often may: what it opens is looked at by a network that has been run already.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anyscene.learning.corpus import Example
from anyscene.learning.judging import BEYOND
from anyscene.learning.proposals.guide import Course
from anyscene.learning.proposals.pool import Proposals
from anyscene.model.actions import Split
from anyscene.policy.curves import accuracy_at
from anyscene.policy.rollout import Trajectory

FORGONE = 0.0002
"""Accuracy, two hundredths of a point, that closed leaves may cost on the way, and in the end."""


def leave_sure_leaves_closed(
    proposals: Proposals, sequence: tuple[int, ...], examples: Sequence[Example], threads: int
) -> tuple[int, ...]:
    """Raise the thresholds of a sequence's splits, last ones first, as far as accuracy on images allows."""
    actions = proposals.model.actions
    thresholds = {i: action.threshold for i, action in enumerate(actions) if isinstance(action, Split)}
    course = Course(proposals, examples, threads)
    runs = course.run(sequence)
    budgets = np.geomspace(min(run.cost[1] for run in runs), BEYOND * max(run.cost[-1] for run in runs), 256)

    def reached(runs: Sequence[Trajectory]) -> tuple[float, float, float]:
        """The mean accuracy over log cost, that in the end, and what it costs."""
        area = np.mean([accuracy_at(run, budgets) for run in runs])
        end, spent = np.mean([(run.accuracy[-1], run.cost[-1]) for run in runs], axis=0)
        return float(area), float(end), float(spent)

    area, end, cost = reached(runs)
    for place in reversed(range(len(sequence))):
        least = thresholds.get(sequence[place], np.inf)
        for split in sorted(thresholds, key=lambda split: -thresholds[split]):
            if thresholds[split] <= least:
                break
            tried = (*sequence[:place], split, *sequence[place + 1 :])
            new_area, new_end, new_cost = reached(course.run(tried))
            if new_area >= area - FORGONE and new_end >= end - FORGONE and new_cost < cost:
                sequence, cost = tried, new_cost
                break
    return sequence
