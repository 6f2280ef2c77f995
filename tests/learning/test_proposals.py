"""Learning on small generated worlds: chains, greedy sequences, the pool, and policies on top."""

from dataclasses import replace

import numpy as np
import pytest

from anyscene.features.hypercolumn.rung import Rung
from anyscene.learning.judging import BEYOND, SHORTFALL, SOONER, STEP_WORTH, merit
from anyscene.learning.learners.boosting import BoostingSettings
from anyscene.learning.learners.weak_learners import Candidate, LearnerSettings, choose_candidates
from anyscene.learning.policy.policies import constant, learn_policies, run_all
from anyscene.learning.policy.policy_iteration import IterationSettings
from anyscene.learning.policy.process import first_visit
from anyscene.learning.proposals.climbs import are_news, propose_climbs, rises_between
from anyscene.learning.proposals.guide import Course, least_budget, search_guide, with_long_end
from anyscene.learning.proposals.planning import end_with_guide, make_plans
from anyscene.learning.proposals.pool import combine, prune, restrict_actions
from anyscene.learning.proposals.sparing import FORGONE, leave_sure_leaves_closed
from anyscene.learning.proposals.static_sequence import ProposalSettings, cluster, greedy_sequence
from anyscene.learning.storage import sequence_from_arrays, sequence_to_arrays
from anyscene.model.actions import Split, Update
from anyscene.policy.curves import area_over_log_cost, budget_grid, mean_curve, score_against
from anyscene.policy.policies import RandomPolicy, StaticPolicy
from anyscene.policy.rollout import rollout
from tests.worlds import SETS, some_costs

LEARNERS = LearnerSettings(
    sizes=(1, 4),
    samples=4000,
    screening_samples=2000,
    boosting=BoostingSettings(depth=2, least_curvature=3.0),
)
SETTINGS = ProposalSettings(max_steps=7, learners=LEARNERS)


@pytest.fixture(scope="module")
def proposals(corpus):
    seeds = np.random.SeedSequence(0).spawn(2)
    sequences = [greedy_sequence(corpus, corpus.fit, some_costs(), SETTINGS, seed) for seed in seeds]
    return combine(corpus, sequences, some_costs(), SETTINGS, 10)


def test_cost_decides_between_candidates_by_lambda():
    candidates = [Candidate((0,), (), ((0, 0),), 1.0), Candidate((1,), (), ((1, 0),), 2.0)]
    assert choose_candidates(candidates, [1.0, 10.0], [0.0]) == [candidates[1]]
    assert choose_candidates(candidates, [1.0, 10.0], [0.9]) == [candidates[0]]
    assert choose_candidates(candidates, [1.0, 10.0], [0.0, 0.9, 0.0]) == [candidates[1], candidates[0]]


def test_a_greedy_sequence_lowers_held_out_loss_and_uses_both_kinds_of_action(proposals, corpus):
    sequence = greedy_sequence(corpus, corpus.fit, some_costs(), SETTINGS, np.random.SeedSequence(0))
    assert sequence.held_out_loss[-1] < 0.8 * sequence.held_out_loss[0]
    assert sequence.held_out_loss[-1] == min(sequence.held_out_loss)
    assert {type(action) for action in sequence.actions} == {Split, Update}


def test_the_first_action_has_the_largest_mean_reward(proposals, corpus):
    first = proposals.sequences[0][0]
    means = np.zeros(len(proposals.model.actions))
    for example in corpus.fit:
        visit = proposals.model.start(example)
        for action in np.flatnonzero(visit.offered):
            means[action] += visit.take(int(action))[0] / len(corpus.fit)
    assert means[first] >= 0.98 * means.max()


def test_a_sequence_survives_being_stored(corpus, proposals):
    sequence = greedy_sequence(
        corpus, corpus.fit, some_costs(), replace(SETTINGS, max_steps=3), np.random.SeedSequence(0)
    )
    again = sequence_from_arrays(sequence_to_arrays(sequence))
    assert again.actions == sequence.actions
    assert again.held_out_loss == sequence.held_out_loss
    for one, other in zip(sequence.chains, again.chains, strict=True):
        np.testing.assert_array_equal(one.value, other.value)


def test_same_seed_same_sequence_whatever_the_threads(corpus):
    settings = [replace(SETTINGS, max_steps=4, threads=threads) for threads in (1, 3)]
    runs = [greedy_sequence(corpus, corpus.fit, some_costs(), s, np.random.SeedSequence(3)) for s in settings]
    assert runs[0].actions == runs[1].actions
    for one, other in zip(runs[0].chains, runs[1].chains, strict=True):
        np.testing.assert_array_equal(one.value, other.value)


def test_the_pool_has_no_duplicates_and_pruning_keeps_the_static_sequence(proposals):
    model = proposals.model
    assert len(set(model.actions)) == len(model.actions)
    before = [model.actions[a] for a in proposals.sequences[0]]
    kept = prune(proposals, most=9, images=4, threads=1, seed=np.random.SeedSequence(0))
    small = restrict_actions(proposals, kept)
    assert len(small.model.actions) <= max(9, len(set(before)) + 4)
    after = [small.model.actions[a] for a in small.sequences[0]]
    assert [type(a) for a in after] == [type(a) for a in before]
    example = model.corpus.held_out[0]
    runs = [
        rollout(m.model, StaticPolicy(s), example.evidence, example.truth, 0.5)
        for m, s in ((model, proposals.sequences[0]), (small.model, small.sequences[0]))
    ]
    np.testing.assert_allclose(runs[0].loss, runs[1].loss)


def test_trying_actions_on_a_visit_is_advancing_the_model(proposals, corpus):
    """The process keeps scores between tries; the model does not. Both must arrive at the same state."""
    example, random = corpus.fit[0], np.random.default_rng(0)
    model = proposals.model.model
    visit, state = first_visit(model, example, 0.5), model.start()
    while visit.offered.any():
        action = int(random.choice(np.flatnonzero(visit.offered)))
        for other in np.flatnonzero(visit.offered)[:5]:
            visit.take(int(other))
        state = model.advance(model.situation(state), action, example.evidence)
        visit = visit.take(action)[1]
        np.testing.assert_allclose(visit.state.belief, state.belief, rtol=1e-3, atol=1e-5)
        assert visit.state.cost == pytest.approx(state.cost)


def test_deployed_chains_see_in_features_what_learning_saw_in_bins(worlds, corpus, proposals):
    held_out = corpus.held_out[0]
    world = worlds[int(held_out.id)]
    learning, deployed = proposals.model.model, proposals.model.deployed()
    policy = StaticPolicy(proposals.sequences[0])
    binned = rollout(learning, policy, held_out.evidence, held_out.truth, 0.5)
    plain = rollout(deployed, policy, world.evidence, world.truth, 0.5)
    np.testing.assert_array_equal(binned.loss, plain.loss)


def test_leaves_are_left_closed_where_that_costs_no_accuracy(proposals, corpus):
    actions = proposals.model.actions
    splits = [i for i, action in enumerate(actions) if isinstance(action, Split)]
    everything = min(splits, key=lambda split: actions[split].threshold)
    first, second = (
        [action for action in sequence if action not in splits] for sequence in proposals.sequences
    )
    before = (everything, everything, *first, everything, second[-1])
    after = leave_sure_leaves_closed(proposals, before, corpus.held_out, 1)
    assert actions[after[-2]].threshold > actions[everything].threshold
    assert [a for a in after if a not in splits] == [a for a in before if a not in splits]
    course = Course(proposals, corpus.held_out, 1)
    ends = [
        np.mean([(run.accuracy[-1], run.cost[-1]) for run in course.run(sequence)], axis=0)
        for sequence in (before, after)
    ]
    assert ends[1][0] >= ends[0][0] - FORGONE
    assert ends[1][1] < ends[0][1]
    assert leave_sure_leaves_closed(proposals, after, corpus.held_out, 1) == after


def test_the_guide_is_at_least_as_good_as_the_static_sequence_on_every_side(proposals, corpus):
    sides = corpus.held_out[:6], corpus.fit[:6]
    guide = search_guide(proposals, sides, 3, 1)
    for images in sides:
        runs = [run_all(proposals.model, constant(StaticPolicy(s)), images, 1) for s in proposals.sequences]
        found = run_all(proposals.model, constant(StaticPolicy(guide)), images, 1)
        full = BEYOND * max(run.cost[-1] for each in runs for run in each)
        first = max(least_budget(proposals.model), min(run.cost[1] for run in runs[0]))
        budgets = np.geomspace(first, full, 256)
        before, after = (mean_curve(each, budgets) for each in (runs[0], found))
        gain, none = (score_against(curve, before, SHORTFALL, SOONER) for curve in (after, before))
        assert gain >= none - 3 * STEP_WORTH


RISING = np.array([1.0, 2.0])
"""What the two sets cost as rungs."""


@pytest.fixture(scope="module")
def with_ladder(corpus):
    """The same images, where both sets have maps of class probabilities, the dear one's better."""
    random = np.random.default_rng(0)

    def with_scores(example):
        mass = example.truth.mass
        share = mass / np.maximum(mass.sum(axis=1, keepdims=True), 1e-9)
        noisy = {
            name: share + random.exponential(x, share.shape) for name, x in zip(SETS, (2, 0.3), strict=True)
        }
        scores = {name: (s / s.sum(axis=1, keepdims=True)).astype(np.float32) for name, s in noisy.items()}
        return replace(example, evidence=replace(example.evidence, scores=scores))

    fit, held_out = (tuple(map(with_scores, part)) for part in (corpus.fit, corpus.held_out))
    return replace(corpus, fit=fit, held_out=held_out, speaking=frozenset(SETS), ladder=(0, 1))


def test_climbs_are_all_choices_of_rungs_that_rise_fast_enough(corpus, with_ladder):
    seed = np.random.SeedSequence(0)
    assert propose_climbs(corpus, RISING, LEARNERS, seed) == []
    climbs = propose_climbs(with_ladder, RISING, LEARNERS, seed)
    looked_at = [[c.blend_source.tolist() for c in climb.chains] for climb in climbs]
    assert looked_at == [[[0]], [[1]], [[0], [0, 1]]]
    together = combine(with_ladder, climbs, some_costs(), SETTINGS, 10)
    assert len(together.model.chains) == 3  # the blend of the cheap rung is in two climbs


def test_climbs_go_from_cheap_to_dear_whatever_the_order_of_the_ladder(with_ladder):
    climbs = propose_climbs(with_ladder, RISING[::-1], LEARNERS, np.random.SeedSequence(0))
    assert [[c.blend_source.tolist() for c in climb.chains] for climb in climbs] == [
        [[1]],
        [[0]],
        [[1], [1, 0]],
    ]


def test_of_several_networks_each_looks_once_and_once_mirrored():
    def news(*names):
        return are_news([Rung.parse(name) for name in names])

    assert news("200", "400", "800")
    assert news("400", "large@800", "large@800m")
    assert not news("200", "400", "large@800")


def test_rungs_of_nearly_the_same_cost_do_not_follow_each_other(with_ladder):
    climbs = propose_climbs(with_ladder, np.array([1.0, 1.1]), LEARNERS, np.random.SeedSequence(0))
    assert [[c.blend_source.tolist() for c in climb.chains] for climb in climbs] == [[[0]], [[1]]]
    twins = replace(with_ladder, sets=("hypercolumn@500", "hypercolumn@500m"))
    assert rises_between(twins, np.array([1.0, 1.1]))(0, 1)  # what it says of the mirrored frame is news


def test_what_is_usual_at_a_place_is_blended_with_no_rung(with_ladder):
    usual = replace(with_ladder, sets=("place", "hypercolumn@500"))
    assert not rises_between(usual, RISING)(0, 1)
    rungs = replace(with_ladder, sets=("hypercolumn@200", "hypercolumn@500"))
    assert rises_between(rungs, RISING)(0, 1)


def test_plans_cost_more_only_where_they_are_better(with_ladder):
    climbs = propose_climbs(with_ladder, RISING, LEARNERS, np.random.SeedSequence(0))
    proposals = combine(with_ladder, climbs, some_costs(), SETTINGS, 10)
    images = with_ladder.held_out
    plans = make_plans(proposals, images, 1)
    runs = [run_all(proposals.model, constant(StaticPolicy(plan.actions)), images, 1) for plan in plans]
    for plan, each in zip(plans, runs, strict=True):
        np.testing.assert_allclose(plan.cost, np.mean([run.cost for run in each], axis=0))
    course = Course(proposals, images, 1)
    merits = [merit(course.confusions(plan.actions, len(plan.actions)).sum(axis=0)) for plan in plans]
    assert len(plans) >= 2
    assert [plan.cost[-1] for plan in plans] == sorted(plan.cost[-1] for plan in plans)
    assert merits == sorted(merits)
    everything = prune(replace(proposals, plans=plans), 8, 4, 1, np.random.SeedSequence(0))
    small = restrict_actions(replace(proposals, plans=plans), everything)
    again = run_all(small.model, constant(StaticPolicy(small.plans[-1].actions)), images, 1)
    np.testing.assert_allclose([run.accuracy for run in again], [run.accuracy for run in runs[-1]])


def test_a_distant_deadline_gives_no_less_than_the_guide(with_ladder):
    climbs = propose_climbs(with_ladder, RISING, LEARNERS, np.random.SeedSequence(0))
    proposals = combine(with_ladder, climbs, some_costs(), SETTINGS, 10)
    plans = make_plans(proposals, with_ladder.held_out, 1)
    cheap, best = replace(proposals, plans=plans[:1]), replace(proposals, plans=plans)
    longer = end_with_guide(cheap, plans[-1].actions, 1)
    assert [plan.actions for plan in longer] == [plans[0].actions, plans[-1].actions]
    np.testing.assert_allclose(longer[-1].cost, plans[-1].cost)
    assert end_with_guide(best, plans[0].actions, 1) == plans
    assert end_with_guide(best, plans[-1].actions, 1) == plans


def test_a_long_end_labels_better_and_is_a_blend_perhaps_on_finer_leaves(with_ladder, corpus, proposals):
    climbs = propose_climbs(with_ladder, RISING, LEARNERS, np.random.SeedSequence(0))
    ladder = combine(with_ladder, climbs, some_costs(), SETTINGS, 10)
    images = with_ladder.held_out
    cheap = ladder.sequences[0]
    longer = with_long_end(ladder, cheap, images, 1)
    ends = [
        np.mean([run.accuracy[-1] for run in run_all(ladder.model, constant(StaticPolicy(s)), images, 1)])
        for s in (cheap, longer)
    ]
    assert longer[: len(cheap)] == cheap
    *splits, blend = longer[len(cheap) :]
    assert all(isinstance(ladder.model.actions[action], Split) for action in splits)
    assert isinstance(ladder.model.actions[blend], Update)
    assert ends[1] > ends[0] + STEP_WORTH
    assert with_long_end(proposals, proposals.sequences[0], corpus.held_out, 1) == proposals.sequences[0]


def test_a_long_end_is_not_kept_waiting_by_steps_that_add_nothing(with_ladder):
    climbs = propose_climbs(with_ladder, RISING, LEARNERS, np.random.SeedSequence(0))
    ladder = combine(with_ladder, climbs, some_costs(), SETTINGS, 10)
    images = with_ladder.held_out
    cheap, dear = (climb[0] for climb in ladder.sequences[:2])
    idle = next(i for i, action in enumerate(ladder.model.actions) if isinstance(action, Split))
    waiting = (cheap, idle, idle, idle)
    longer = with_long_end(ladder, waiting, images, 1)
    assert longer[0] == cheap
    assert longer.count(idle) < 3

    def area(sequence):
        runs = run_all(ladder.model, constant(StaticPolicy(sequence)), images, 1)
        return area_over_log_cost(runs, np.geomspace(1, 1000, 256))

    assert area(longer) > area((*waiting, dear))


def test_clusters_divide_the_fitted_images(corpus):
    groups = cluster(corpus, 2, some_costs(), 0)
    ids = [example.id for group in groups for example in group]
    assert len(ids) == len(set(ids))
    assert set(ids) <= {example.id for example in corpus.fit}
    assert cluster(corpus, 0, some_costs(), 0) == []


def test_learned_policies_beat_random_ones(corpus, proposals):
    settings = IterationSettings(iterations=2, sweeps=2)
    policies = learn_policies(proposals, settings, [0.3], 12, 1, np.random.SeedSequence(1))
    random = np.random.default_rng(0)
    chosen = {**policies, "RS": RandomPolicy(random)}
    runs = {name: run_all(proposals.model, constant(p), corpus.held_out, 1) for name, p in chosen.items()}
    budgets = budget_grid(list(runs.values()))
    area = {name: area_over_log_cost(run, budgets) for name, run in runs.items()}
    assert area["D-NM"] > area["RS"]
    assert area["D-M"] > area["RS"]
