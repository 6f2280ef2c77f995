"""A guide for the learned policy: the static sequence of largest area under its curve, found by search.

S-M takes what pays most at once, and so climbs every rung of the ladder. Which steps had better be left out
shows only at the end: the search starts from the proposed sequences, drops, inserts and splices, and keeps
what makes the whole curve better on images that no weak learner was fitted to.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anyscene.learning.corpus import Example
from anyscene.learning.draft import Draft
from anyscene.learning.parallel import map_threads
from anyscene.learning.pool import Proposals
from anyscene.learning.process import ImageVisit
from anyscene.learning.proposals import set_prices
from anyscene.model.curves import mean_curve, score_against
from anyscene.model.loss import pixel_accuracy
from anyscene.model.rollout import Trajectory

TAIL = 1.3
"""The curve counts up to this many times the full cost of the dearest proposed sequence."""

SHORTFALL = 0.1
"""Weight of the largest shortfall against S-M, at any budget, beside the area under the curve."""

STEP_WORTH = 0.0005
"""What a step more has to add: smaller gains on some dozen images are not there on new ones."""

Sequence_ = tuple[int, ...]


class Course:
    """Follows static sequences on some images; what the latest one shares with the next is not done again."""

    def __init__(self, proposals: Proposals, examples: Sequence[Example], threads: int) -> None:
        self._draft = proposals.model
        self._examples = examples
        self._threads = threads
        self._latest: list[tuple[Sequence_, list[ImageVisit]]] = [((), []) for _ in examples]

    def run(self, sequence: Sequence_) -> list[Trajectory]:
        """The trajectories of a sequence."""
        return map_threads(lambda i: self._follow(i, sequence), range(len(self._examples)), self._threads)

    def _follow(self, image: int, sequence: Sequence_) -> Trajectory:
        before, visits = self._latest[image]
        shared = 0
        while shared < min(len(before), len(sequence)) and before[shared] == sequence[shared]:
            shared += 1
        example = self._examples[image]
        visits = visits[: shared + 1] or [self._draft.start(example)]
        for action in sequence[len(visits) - 1 :]:
            visit = visits[-1]
            visits.append(visit.take(action)[1] if visit.offered[action] else visit)
        self._latest[image] = sequence, visits
        return Trajectory(
            np.array(sequence, np.int64),
            np.array([visit.state.cost for visit in visits]),
            np.array([visit.loss for visit in visits]),
            np.array([pixel_accuracy(visit.seen, example.truth) for visit in visits]),
        )


def search_guide(
    proposals: Proposals,
    examples: Sequence[Example],
    trials: int,
    threads: int,
    random: np.random.Generator,
) -> tuple[int, ...]:
    """Climb from the best proposed sequence by random changes; return the best one found.

    examples : images that no weak learner was fitted to.
    """
    course = Course(proposals, examples, threads)
    first_runs = [course.run(sequence) for sequence in proposals.sequences]
    full = max(trajectory.cost[-1] for runs in first_runs for trajectory in runs)
    budgets = np.geomspace(least_budget(proposals.model), TAIL * full, 256)

    static = mean_curve(first_runs[0], budgets)

    def score(runs: Sequence[Trajectory]) -> float:
        return score_against(mean_curve(runs, budgets), static, SHORTFALL)

    scores = [score(runs) for runs in first_runs]
    best, best_score = proposals.sequences[int(np.argmax(scores))], max(scores)
    for _ in range(trials):
        tried = _changed(best, proposals, random)
        tried_score = score(course.run(tried))
        if tried_score - best_score > STEP_WORTH * (len(tried) - len(best)):
            best, best_score = tried, tried_score
    return best


def least_budget(draft: Draft) -> float:
    """The cost from which on a curve counts: of the first map that shows detail, where there is one.

    Labels without a network's map are too poor to put it off for them.
    """
    costs = draft.costs
    ladder = list(draft.corpus.ladder)
    return costs.start + (costs.step + float(set_prices(costs)[ladder].min()) if ladder else 0.0)


def _changed(sequence: Sequence_, proposals: Proposals, random: np.random.Generator) -> Sequence_:
    """Drop actions in a row, insert one, replace one, or go on as another sequence does."""
    at = int(random.integers(len(sequence) + 1))
    kind = random.random()
    if kind < 0.15 and len(sequence) > 1:
        return sequence[: max(at, 1) - 1] + sequence[at + int(random.integers(len(sequence))) :]
    if kind < 0.35 and len(sequence) > 1:
        at = min(at, len(sequence) - 1)
        return sequence[:at] + sequence[at + 1 :]
    if kind < 0.65:
        return (*sequence[:at], _any_action(proposals, random), *sequence[at + (kind < 0.5) :])
    other = proposals.sequences[int(random.integers(len(proposals.sequences)))]
    return sequence[:at] + other[int(random.integers(len(other) + 1)) :]


def _any_action(proposals: Proposals, random: np.random.Generator) -> int:
    """One of the sequences' own actions half of the time, else any."""
    if random.random() < 0.5:
        sequence = proposals.sequences[int(random.integers(len(proposals.sequences)))]
        return int(random.choice(sequence)) if sequence else 0
    return int(random.integers(len(proposals.model.actions)))
