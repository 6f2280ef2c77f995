"""The greedy sequence of the paper's setting: honest lines, and steps that pay on images that are unseen."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.learning.learners.boosting import BoostingSettings
from anyscene.learning.learners.cross_fit import FOLDS, folds_of_runs
from anyscene.learning.learners.leaves import draw_leaves, layout_of
from anyscene.learning.proposals.advancing import Crowd, Measured
from anyscene.learning.proposals.courses import in_words
from anyscene.learning.proposals.greedy import GreedySettings, Step, fit_chains, greedy_course, take
from anyscene.learning.proposals.sources import Sources, choices_of_sources
from anyscene.learning.proposals.weighing import Proposal, best_of_each_kind, plan, planned_area
from anyscene.model.actions import Split, Update
from anyscene.model.chain import PARENT_BELIEF
from anyscene.model.loss import Truth
from tests.worlds import SETS, some_costs

SETTINGS = GreedySettings(
    sizes=(2, 4),
    steps=5,
    samples=4000,
    screening_samples=2000,
    boosting=BoostingSettings(depth=2, least_curvature=3.0, regularisation=5.0, column_share=0.5),
)


@pytest.fixture(scope="module")
def crowd(corpus):
    return Crowd(corpus, corpus.fit, folds_of_runs(len(corpus.fit)), some_costs())


@pytest.fixture(scope="module")
def course(crowd):
    return greedy_course(crowd, SETTINGS, np.random.SeedSequence(0))


def test_folds_are_runs_of_neighbours():
    folds = folds_of_runs(120)
    assert set(folds) == set(range(FOLDS))
    assert np.count_nonzero(np.diff(folds)) == FOLDS - 1


def test_every_proposal_lowers_the_cross_entropy_of_unseen_images(course):
    entropies = [measured.cross_entropy for measured in course.record]
    assert len(entropies) > 2
    assert entropies == sorted(entropies, reverse=True)
    assert {type(step.action) for step in course.steps} == {Split, Update}


def test_the_active_area_is_told_by_layer(course):
    assert course.record[0].active == pytest.approx((1.0, 0.0, 0.0, 0.0))
    assert all(0 < sum(measured.active) <= 1 + 1e-6 for measured in course.record)
    told = in_words(Measured(1.5, 0.5, 0.25, 0.9, (0.0, 0.0, 0.25, 0.5)))
    assert told == (
        "1.5 ms, cross-entropy 0.5000, impurity 0.2500, active 25% of the image on layer 2, 50% of the image "
        "on layer 3"
    )


def test_costs_rise_and_a_sequence_ends_with_an_update(course):
    costs = [measured.cost for measured in course.record]
    assert costs == sorted(costs)
    assert isinstance(course.steps[-1].action, Update)


def test_same_seed_same_course(crowd, course):
    again = greedy_course(crowd, SETTINGS, np.random.SeedSequence(0))
    assert [step.action for step in again.steps] == [step.action for step in course.steps]
    for one, other in zip(course.steps[-1].chains, again.steps[-1].chains, strict=True):
        np.testing.assert_array_equal(one.value, other.value)


def test_a_line_knows_nothing_of_the_fold_that_it_leaves_out(crowd):
    def wrong(example):
        mass = np.ascontiguousarray(example.truth.mass[:, ::-1])
        return replace(example, truth=Truth(mass, example.truth.impurity))

    out = 1
    examples = tuple(wrong(e) if f == out else e for e, f in zip(crowd.examples, crowd.folds, strict=True))
    misled = replace(crowd, examples=examples)
    layout, sources = layout_of(crowd.corpus), Sources((PARENT_BELIEF, *range(len(SETS))))
    fitted = []
    for images in (crowd, misled):
        lines = images.start()
        for _ in range(2):
            lines = take(images, lines, Step(Split(0.0)))
        random = np.random.default_rng(0)
        fitted.append(fit_chains(images, lines, sources, layout, SETTINGS, random))
    np.testing.assert_array_equal(fitted[0][out].value, fitted[1][out].value)
    assert not np.array_equal(fitted[0][-1].value, fitted[1][-1].value)


def test_rows_are_active_leaves_and_weigh_one_on_average(crowd):
    lines = take(crowd, crowd.start(), Step(Split(0.0)))
    random = np.random.default_rng(0)
    leaves = draw_leaves(crowd.corpus, crowd.examples, lines[0], crowd.folds, 10**9, random)
    active = sum(int(state.active.sum()) for state in lines[0])
    assert 0.5 * active < len(leaves.truth) <= active
    assert leaves.weight.mean() == pytest.approx(1.0, rel=1e-5)
    labelled = sum(float(e.truth.mass[0].sum()) for e in crowd.examples)
    assert leaves.share.sum() == pytest.approx(labelled, rel=1e-4)


def test_chains_with_a_new_set_look_at_it(crowd):
    lines = take(crowd, crowd.start(), Step(Split(0.0)))
    layout, every = layout_of(crowd.corpus), tuple(range(len(SETS)))
    random = np.random.default_rng(0)
    for new in range(len(SETS)):
        for chain in fit_chains(crowd, lines, Sources(every, (new,)), layout, SETTINGS, random):
            assert chain.sets_of(1, len(SETS))[new]


@pytest.fixture(scope="module")
def spoken_to(crowd):
    """The same images, where the second set tells every class but for some noise."""
    random = np.random.default_rng(0)

    def with_scores(example):
        mass = example.truth.mass
        share = mass / np.maximum(mass.sum(axis=1, keepdims=True), 1e-9) + random.exponential(0.3, mass.shape)
        scores = {SETS[1]: (share / share.sum(axis=1, keepdims=True)).astype(np.float32)}
        return replace(example, evidence=replace(example.evidence, scores=scores))

    corpus = replace(crowd.corpus, speaking=frozenset({SETS[1]}), networks=(1,))
    return replace(crowd, corpus=corpus, examples=tuple(map(with_scores, crowd.examples)))


def test_a_network_is_blended_and_trees_come_no_more(spoken_to):
    corpus = spoken_to.corpus
    before = choices_of_sources(corpus, [0], after_split=False)
    assert before == [Sources((PARENT_BELIEF, 0)), Sources((PARENT_BELIEF, 1), (1,), blends=True)]
    assert choices_of_sources(corpus, [0, 1], after_split=True) == [Sources((PARENT_BELIEF, 1), blends=True)]
    assert choices_of_sources(corpus, [0, 1], after_split=False) == []


def test_a_blend_does_not_trust_beliefs_that_know_their_images(spoken_to):
    lines = take(spoken_to, spoken_to.start(), Step(Split(0.0)))
    random = np.random.default_rng(0)
    for line, states in enumerate(lines):
        for image, knows in enumerate(spoken_to.fitted(line)):
            truth = spoken_to.examples[image].truth.mass[states[image].leaves] + 1e-3
            belief = truth if knows else random.exponential(1.0, truth.shape)
            belief = (belief / belief.sum(axis=1, keepdims=True)).astype(np.float32)
            states[image] = replace(states[image], parent_belief=belief)
    sources = Sources((PARENT_BELIEF, 1), (1,), blends=True)
    for chain in fit_chains(spoken_to, lines, sources, layout_of(spoken_to.corpus), SETTINGS, random):
        parents, said = chain.blend_weight
        assert said > 0.3 > parents


def test_trees_that_bring_a_set_begin_halfway_to_the_prior_and_others_where_beliefs_are(crowd):
    lines = take(crowd, crowd.start(), Step(Split(0.0)))
    layout, random = layout_of(crowd.corpus), np.random.default_rng(0)
    sources = Sources((PARENT_BELIEF, 0), (0,)), Sources((PARENT_BELIEF, 0))
    (new, *_), (known, *_) = (fit_chains(crowd, lines, s, layout, SETTINGS, random) for s in sources)
    assert new.kept == 0.5
    assert known.kept == 1
    state = replace(lines[0][0], belief=np.roll(lines[0][0].belief, 1, axis=1))
    untouched = replace(new, value=np.zeros_like(new.value))
    ((after, *_), *_) = [crowd.update([state] * len(crowd.examples), [untouched] * len(crowd.examples), 2)]
    between = np.sqrt(state.belief * crowd.corpus.prior)
    np.testing.assert_allclose(after.belief, between / between.sum(axis=1, keepdims=True), rtol=1e-4)


def test_what_is_fitted_differs_in_its_sets_or_in_whether_it_splits():
    alike = [replace(proposed(gain, 2.0), splits=(Split(0.3),)) for gain in (0.5, 0.7)]
    other = proposed(0.1, 2.0)
    assert best_of_each_kind([*alike, other], 1.0) == [alike[1], other]


def proposed(gain, cost, waste=0.2):
    return Proposal(splits=(), sources=Sources(()), gain=gain, cost=cost, waste=waste)


def test_a_plan_shows_something_early_where_the_large_step_is_far():
    early, large = proposed(0.5, 1.0), proposed(1.0, 4.0)
    assert plan([early, large], 50.0) == (early, large)


def test_a_plan_leaves_out_a_small_step_that_delays_the_large_one():
    early, large = proposed(0.1, 3.0, waste=2.0), proposed(1.0, 4.0)
    assert plan([early, large], 50.0) == (large,)


@given(st.lists(st.tuples(st.floats(0.01, 2), st.floats(0.5, 40), st.floats(0, 1)), min_size=1, max_size=6))
def test_no_single_step_has_a_larger_area_than_the_plan(steps):
    proposals = [proposed(*step) for step in steps]
    best = planned_area(plan(proposals, 50.0), 50.0)
    assert best >= max(planned_area((one,), 50.0) for one in proposals) - 1e-9


def test_a_far_sighted_course_lowers_the_cross_entropy_of_unseen_images(crowd):
    course = greedy_course(crowd, replace(SETTINGS, far_sighted=True), np.random.SeedSequence(0))
    losses = [measured.cross_entropy for measured in course.record]
    assert len(losses) > 1
    assert all(after < before for before, after in pairwise(losses))
