"""The pool of the paper's setting: courses on all images and on clusters of them (4.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.errors import DataError
from anyscene.learning.config import TrainConfig
from anyscene.learning.corpus import Corpus, Example
from anyscene.learning.helpers import Helpers, Report
from anyscene.learning.learners.cross_fit import folds_of_runs
from anyscene.learning.proposals.advancing import Crowd, Measured
from anyscene.learning.proposals.greedy import Course, GreedySettings, Step, greedy_course
from anyscene.learning.proposals.planning import make_plans
from anyscene.learning.proposals.pool import Proposals, combine, prune, restrict_actions
from anyscene.learning.proposals.sparing import leave_sure_leaves_closed
from anyscene.learning.proposals.static_sequence import GreedySequence, ProposalSettings, cluster
from anyscene.learning.proposals.wanted import Wanted, propose_all
from anyscene.learning.run_folder import RunFolder
from anyscene.learning.storage import sequence_from_arrays, sequence_to_arrays
from anyscene.model.action_costs import ActionCosts
from anyscene.model.actions import Update

HORIZON_FACTOR = 1.5
"""A policy may take so many times the actions of the longest sequence."""

LineSequences = tuple[GreedySequence, ...]
"""The same actions, with the chains of each line; those of all images come last."""

OnStep = Callable[[int, Sequence[Step], Measured], None]
"""Told of every proposal that was taken: how many so far, its steps, and what holds after it."""


@dataclass(frozen=True)
class CourseProposer:
    """Proposes courses on groups of a corpus's images. folds : of all images, so that lines mean the same."""

    corpus: Corpus
    costs: ActionCosts
    settings: GreedySettings

    @property
    def fold_of(self) -> dict[str, int]:
        """The fold of each image, by its id."""
        ids = [example.id for example in self.corpus.fit]
        return dict(zip(ids, folds_of_runs(len(ids)).tolist(), strict=True))

    def propose(
        self, group: Sequence[Example], seed: np.random.SeedSequence, on_step: OnStep, far_sighted: bool
    ) -> LineSequences:
        """A course on a group of images."""
        fold_of = self.fold_of
        folds = np.array([fold_of[example.id] for example in group])
        crowd = Crowd(self.corpus, tuple(group), folds, self.costs)
        taken = 0

        def note(steps: Sequence[Step], measured: Measured) -> None:
            nonlocal taken
            taken += 1
            on_step(taken, steps, measured)

        settings = replace(self.settings, far_sighted=far_sighted)
        return by_line(greedy_course(crowd, settings, seed, note))

    def combine(
        self, courses: Sequence[LineSequences], settings: ProposalSettings, max_steps: int
    ) -> Proposals:
        """One pool of all courses; images are visited along the line that has not seen them."""
        *lines, whole = (
            combine(self.corpus, [course[line] for course in courses], self.costs, settings, max_steps)
            for line in range(len(courses[0]))
        )
        chains = tuple(line.model.chains for line in lines)
        return replace(whole, model=replace(whole.model, lines=chains, line_of=self.fold_of))


def propose_courses(
    corpus: Corpus,
    costs: ActionCosts,
    config: TrainConfig,
    folder: RunFolder,
    seed: np.random.SeedSequence,
    report: Report,
    helpers: Helpers,
) -> Proposals:
    """The pool of all courses, pruned; S-M's is the myopic one, and a guide may be the far-sighted one.

    Guides leave sure leaves closed where that loses nothing.
    """
    course_seed, prune_seed = seed.spawn(2)
    settings = config.proposals()
    proposer = CourseProposer(corpus, costs, config.courses())
    clusters = cluster(corpus, config.clusters, costs, int(course_seed.generate_state(1)[0]))
    groups = [
        ("static sequence", corpus.fit, False),
        ("far-sighted sequence", corpus.fit, True),
        *((f"sequence of cluster {i + 1}", tuple(group), False) for i, group in enumerate(clusters)),
    ]
    seeds = course_seed.spawn(len(groups))
    wanted = [
        Wanted(stage, group, own, far_sighted)
        for (stage, group, far_sighted), own in zip(groups, seeds, strict=True)
    ]
    made = propose_all(partial(_course, proposer, config.steps), wanted, folder, helpers, report)
    courses = [found for found in map(course_from_arrays, made) if found]
    if not courses:
        raise DataError("no action improves on the prior: the feature sets say nothing about these classes")
    longest = max(len(found[-1].actions) for found in courses)
    everything = proposer.combine(courses, settings, max(2, round(HORIZON_FACTOR * longest)))
    guided = replace(everything, guides=everything.sequences[:2])
    judges = corpus.held_out[:: max(1, len(corpus.held_out) // (2 * config.guide_images))]
    report("pool", 0, 1, f"{len(guided.model.actions)} proposals")

    def choose_pool() -> dict[str, list[int]]:
        return {"kept": prune(guided, config.pool, config.prune_images, config.threads, prune_seed)}

    pruned = restrict_actions(guided, folder.document("pool", choose_pool)["kept"])
    report("pool", 1, 1, f"{len(pruned.model.actions)} actions kept")
    spared = (leave_sure_leaves_closed(pruned, guide, judges, config.threads) for guide in pruned.guides)
    pruned = replace(pruned, guides=tuple(spared))
    plans = make_plans(pruned, judges, config.threads)
    report("plans", 1, 1, f"{len(plans)} for known deadlines")
    return replace(pruned, plans=plans)


def _course(
    proposer: CourseProposer, most: int, wanted: Wanted, threads: int, report: Report
) -> dict[str, NDArray[Any]]:
    """One course, which takes one thread however many there are. most : steps."""

    def on_step(taken: int, steps: Sequence[Step], measured: Measured) -> None:
        report(wanted.stage, taken, most, f"{in_words(measured)}; on unseen images")

    return course_to_arrays(proposer.propose(wanted.group, wanted.seed, on_step, wanted.far_sighted))


def in_words(measured: Measured) -> str:
    """Both terms of the loss apart, and the layers whose leaves are active."""
    active = ", ".join(
        f"{share:.0%} of the image on layer {layer}" for layer, share in enumerate(measured.active) if share
    )
    return (
        f"{measured.cost:.1f} ms, cross-entropy {measured.cross_entropy:.4f}, impurity "
        f"{measured.impurity:.4f}, active {active}"
    )


def by_line(course: Course) -> LineSequences:
    """A course as one sequence for each line."""
    updates = [step for step in course.steps if step.chains]
    places = iter(range(len(updates)))
    actions = tuple(
        replace(step.action, chain=next(places)) if isinstance(step.action, Update) else step.action
        for step in course.steps
    )
    losses = tuple(measured.cross_entropy for measured in course.record)
    if not updates:
        return ()
    lines = zip(*(step.chains for step in updates), strict=True)
    return tuple(GreedySequence(tuple(chains), actions, losses) for chains in lines)


def course_to_arrays(course: LineSequences) -> dict[str, NDArray[Any]]:
    """A course as arrays."""
    arrays: dict[str, NDArray[Any]] = {"lines": np.array([len(course)])}
    for line, sequence in enumerate(course):
        arrays |= {f"{line}/{name}": array for name, array in sequence_to_arrays(sequence).items()}
    return arrays


def course_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> LineSequences:
    """The inverse of `course_to_arrays`."""

    def of_line(line: int) -> dict[str, NDArray[Any]]:
        start = f"{line}/"
        return {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}

    return tuple(sequence_from_arrays(of_line(line)) for line in range(int(arrays["lines"][0])))
