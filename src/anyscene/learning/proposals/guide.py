"""A guide for the learned policy: the static sequence of largest area under its curve, found by search.

S-M takes what pays most at once, and so climbs every rung of the ladder. Which steps had better be left out
shows only at the end: the search starts from the best proposed sequence, leaves out, puts in and replaces,
and keeps what makes the whole curve surely better, both on images that weak learners were fitted to and on
images that they were not: these are of other drives, and what helps on one side alone may harm on a third.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.learning.corpus import Example
from anyscene.learning.judging import BEYOND, SHORTFALL, SOONER, STEP_WORTH, standard_error, surely_above
from anyscene.learning.parallel import map_threads
from anyscene.learning.policy.process import ImageVisit
from anyscene.learning.proposals.draft import Draft
from anyscene.learning.proposals.pool import Proposals
from anyscene.learning.proposals.static_sequence import set_prices
from anyscene.model.actions import begins_anew
from anyscene.policy.curves import accuracy_at, mean_curve, score_against
from anyscene.policy.rollout import Trajectory

PROMISING = 8
"""Actions that are put in at each place: those that pay most at once there."""

SCREENED = 3
"""Every so manieth image screens changes, and of these every so manieth says which actions are promising."""

HOPEFUL = 20
"""Changes that all images judge."""

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

    def confusions(self, sequence: Sequence_, end: int) -> NDArray[np.float64]:
        """How each image is labelled after so many actions of a sequence, float64[n, C, C]."""
        shares = map_threads(
            lambda i: self._visits(i, sequence)[end].confusion, range(len(self._examples)), self._threads
        )
        return np.array(shares)

    def _follow(self, image: int, sequence: Sequence_) -> Trajectory:
        visits = self._visits(image, sequence)
        return Trajectory(
            np.array(sequence, np.int64),
            np.array([visit.state.cost for visit in visits]),
            np.array([visit.loss for visit in visits]),
            np.array([visit.accuracy for visit in visits]),
        )

    def _visits(self, image: int, sequence: Sequence_) -> list[ImageVisit]:
        """The states that a sequence passes through, the first one included."""
        before, visits = self._latest[image]
        shared = 0
        while shared < min(len(before), len(sequence)) and before[shared] == sequence[shared]:
            shared += 1
        visits = visits[: shared + 1] or [self._draft.start(self._examples[image])]
        for action in sequence[len(visits) - 1 :]:
            visit = visits[-1]
            visits.append(visit.take(action)[1] if visit.offered[action] else visit)
        self._latest[image] = sequence, visits
        return visits


def search_guide(
    proposals: Proposals, sides: Sequence[Sequence[Example]], rounds: int, threads: int
) -> tuple[int, ...]:
    """Climb from the best proposed sequence by one change a round: the one that is surest to help.

    sides : groups of images; on each a change must raise the score by more than the standard error of the
    images' differences. Every third image of them screens all changes, all of them judge the best.
    """
    juries = [_Jury(proposals, side, threads) for side in sides]
    screens = [_Jury(proposals, side[::SCREENED], threads) for side in sides]
    few = [example for side in sides for example in side[:: SCREENED**2]]
    best = proposals.sequences[0]
    for _ in range(rounds):
        changes = _changes(best, proposals, few)
        hopes = _least_gains(screens, best, changes)
        hopeful = [changes[i] for i in np.argsort(-hopes, kind="stable")[:HOPEFUL]]
        gains = _least_gains(juries, best, hopeful)
        if not len(gains) or gains.max() <= 0:
            break
        best = hopeful[int(np.argmax(gains))]
    return best


def with_long_end(
    proposals: Proposals, sequence: Sequence_, examples: Sequence[Example], threads: int
) -> Sequence_:
    """The sequence, and after it the blend that labels best, if that is surely better than without it.

    It may be a blend on finer leaves. A last costly step hardly adds to the area, but it is what an unlimited
    budget is for. What of the sequence delays it for nothing is left out; where it is far, other blends come
    on the way.
    """
    pool = proposals.model.model.pool
    course = Course(proposals, examples, threads)
    reached: dict[Sequence_, NDArray[np.float64]] = {}

    def follow(longer: Iterable[Sequence_]) -> None:
        for each in longer:
            reached[each] = np.array([run.accuracy[-1] for run in course.run(each)])

    blends = [action for action in range(len(pool.actions)) if begins_anew((action,), pool)]
    follow([sequence, *((*sequence, blend) for blend in blends)])
    promising = sorted(blends, key=lambda blend: -reached[(*sequence, blend)].mean())[:PROMISING]
    splits = [(action,) * times for action in np.flatnonzero(pool.chain_of < 0).tolist() for times in (1, 2)]
    follow((*sequence, *split, blend) for split in splits for blend in promising)
    best = max(
        reached, key=lambda longer: reached[longer].mean() - STEP_WORTH * (len(longer) - len(sequence))
    )
    if not surely_above(reached[best] - reached[sequence], STEP_WORTH):
        return sequence
    return _smooth(sequence, best[len(sequence) :], blends, _Jury(proposals, examples, threads))


def _smooth(start: Sequence_, end: Sequence_, blends: Sequence[int], jury: _Jury) -> Sequence_:
    """The way from one to the other: steps left out or put in before the end, the surest gain first."""
    while end:
        shorter = [start[:length] for length in range(1, len(start))]
        longer = [(*start, blend) for blend in blends if blend not in start + end]
        changed = shorter + longer
        gains = jury.gains(start + end, [each + end for each in changed], step_worth=0.0)
        if not len(gains) or gains.max() <= 0:
            break
        start = changed[int(np.argmax(gains))]
    return start + end


@dataclass(frozen=True)
class _Verdict:
    """The score of a sequence's mean curve, and the area under its curve on each image."""

    score: float
    areas: NDArray[np.float64]


class _Jury:
    """Scores static sequences on some images, by the same budgets."""

    def __init__(self, proposals: Proposals, examples: Sequence[Example], threads: int) -> None:
        self._course = Course(proposals, examples, threads)
        runs = [self._course.run(sequence) for sequence in proposals.sequences]
        first = min(trajectory.cost[1] for trajectory in runs[0])
        full = max(trajectory.cost[-1] for each in runs for trajectory in each)
        self._budgets = np.geomspace(max(first, least_budget(proposals.model)), BEYOND * full, 256)
        self._static = mean_curve(runs[0], self._budgets)

    def verdict(self, sequence: Sequence_) -> _Verdict:
        """Run a sequence and score it."""
        curves = np.array([accuracy_at(run, self._budgets) for run in self._course.run(sequence)])
        return _Verdict(
            score_against(curves.mean(axis=0), self._static, SHORTFALL, SOONER), curves.mean(axis=1)
        )

    def gains(
        self, before: Sequence_, changed: Sequence[Sequence_], step_worth: float = STEP_WORTH
    ) -> NDArray[np.float64]:
        """By how much each sequence is surely better than the one before: by the gain less its doubt."""
        known = self.verdict(before)
        gains = np.empty(len(changed))
        # In order, so that one after the other shares its beginning.
        for i in sorted(range(len(changed)), key=lambda i: changed[i]):
            found = self.verdict(changed[i])
            doubt = standard_error(found.areas - known.areas)
            longer = len(changed[i]) - len(before)
            gains[i] = found.score - known.score - doubt - step_worth * longer
        return gains


def _least_gains(
    juries: Sequence[_Jury], before: Sequence_, changed: Sequence[Sequence_]
) -> NDArray[np.float64]:
    """The gain of each change with the jury that sees least in it."""
    return np.asarray(np.min([jury.gains(before, changed) for jury in juries], axis=0))


def least_budget(draft: Draft) -> float:
    """The cost from which on a curve counts: of the first map that shows detail, where there is one.

    Labels without a network's map are too poor to put it off for them.
    """
    costs = draft.costs
    ladder = list(draft.corpus.ladder)
    return costs.start + (costs.step + float(set_prices(costs)[ladder].min()) if ladder else 0.0)


def _changes(sequence: Sequence_, proposals: Proposals, examples: Sequence[Example]) -> list[Sequence_]:
    """Sequences with up to three actions in a row left out, or a promising one put in or replacing one."""
    changes: dict[Sequence_, None] = {}
    for at, promising in enumerate(_promising(sequence, proposals, examples)):
        before, after = sequence[:at], sequence[at:]
        changes.update((before + after[left_out:], None) for left_out in range(1, min(3, len(after)) + 1))
        for action in promising:
            changes[(*before, action, *after)] = None
            changes[(*before, action, *after[1:])] = None
    changes.pop(sequence, None)
    return list(changes)


def _promising(sequence: Sequence_, proposals: Proposals, examples: Sequence[Example]) -> Iterator[list[int]]:
    """Before each action and after the last: the actions of largest mean reward (Eq. 4), above nothing."""
    visits = [proposals.model.start(example) for example in examples]
    for action in (*sequence, None):
        rewards = np.mean([visit.all_rewards() for visit in visits], axis=0)
        order = np.argsort(-rewards, kind="stable")[:PROMISING]
        yield order[rewards[order] > 0].tolist()
        if action is not None:
            visits = [visit.take(action)[1] if visit.offered[action] else visit for visit in visits]
