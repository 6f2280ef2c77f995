"""One conformance suite that every policy passes, then what each promises besides."""

import numpy as np
import pytest
from hypothesis import given

from anyscene.model.loss import labeling_loss
from anyscene.policy.curves import accuracy_at, area_over_log_cost, budget_grid, mean_curve
from anyscene.policy.oracle import Oracle
from anyscene.policy.policies import (
    LearnedPolicy,
    LinearQ,
    RandomPolicy,
    StaticPolicy,
    remaining,
)
from anyscene.policy.rollout import rollout, walk
from tests.worlds import random_model, random_world, seeds

ALPHA = 0.5


def learned(random, model):
    phi = model.situation(model.start()).phi
    q = LinearQ(*(random.normal(size=s) for s in (len(phi.state), phi.action.shape[1], phi.own.shape)))
    return LearnedPolicy(q)


def oracle(world, model, policy):
    run = rollout(model, policy, world.evidence, world.truth, ALPHA)
    return Oracle(model, policy, world.evidence, world.truth, budget_grid([[run]]))


def make_policy(name, random, world, model):
    policies = {
        "learned": lambda: learned(random, model),
        "static": lambda: StaticPolicy((0, 5, 1, 4, 0, 7)),
        "random": lambda: RandomPolicy(random),
        "oracle": lambda: oracle(world, model, learned(random, model)),
    }
    return policies[name]()


@pytest.mark.parametrize("name", ["learned", "static", "random", "oracle"])
class TestConformance:
    def setup_run(self, name, seed=3):
        random = np.random.default_rng(seed)
        world, model = random_world(random), random_model(random)
        return world, model, make_policy(name, random, world, model)

    def test_takes_only_offered_actions_and_ends_within_the_horizon(self, name):
        world, model, policy = self.setup_run(name)
        steps = list(walk(model, policy, world.evidence))
        assert 0 < len(steps) <= model.max_steps
        assert all(situation.offered[action] for situation, action, _ in steps)

    def test_cost_grows_with_every_action(self, name):
        world, model, policy = self.setup_run(name)
        trajectory = rollout(model, policy, world.evidence, world.truth, ALPHA)
        assert np.all(np.diff(trajectory.cost) > 0)
        assert len(trajectory.cost) == len(trajectory.actions) + 1

    def test_never_passes_a_budget(self, name):
        world, model, policy = self.setup_run(name)
        for budget in (0.0, 0.5, 3.0, 20.0):
            for _, _, state in walk(model, policy, world.evidence, budget=budget):
                assert state.cost <= budget

    def test_same_seed_same_trajectory(self, name):
        runs = [
            rollout(m, p, w.evidence, w.truth, ALPHA) for w, m, p in [self.setup_run(name) for _ in range(2)]
        ]
        np.testing.assert_array_equal(runs[0].actions, runs[1].actions)
        np.testing.assert_array_equal(runs[0].loss, runs[1].loss)

    def test_stops_when_nothing_is_offered(self, name):
        _world, model, policy = self.setup_run(name)
        situation = model.situation(model.start())
        nothing = type(situation)(**{**vars(situation), "offered": np.zeros_like(situation.offered)})
        assert policy.choose(nothing) is None


@given(seeds)
def test_oracle_has_at_least_the_area_of_the_policy_it_follows(seed):
    random = np.random.default_rng(seed)
    world, model = random_world(random), random_model(random, max_steps=5)
    policy = learned(random, model)
    knowing = oracle(world, model, policy)
    areas = [
        accuracy_at(rollout(model, who, world.evidence, world.truth, ALPHA), knowing.budgets).mean()
        for who in (knowing, policy)
    ]
    assert areas[0] >= areas[1] - 1e-9


def test_static_policy_passes_over_what_is_not_offered():
    random = np.random.default_rng(0)
    world, model = random_world(random), random_model(random)
    steps = list(walk(model, StaticPolicy((5, 4, 0)), world.evidence))
    # After the bundle of 5 of a chain its bundle of 1 would change nothing.
    assert [action for _, action, _ in steps] == [5, 0]


def test_learned_policy_stops_when_nothing_is_worth_its_cost():
    random = np.random.default_rng(0)
    world, model = random_world(random), random_model(random)
    policy = LearnedPolicy(learned(random, model).q, stop_below=np.inf)
    assert list(walk(model, policy, world.evidence)) == []


def test_trajectory_rewards_are_loss_drops_per_cost():
    random = np.random.default_rng(1)
    world, model = random_world(random), random_model(random)
    policy = StaticPolicy((0, 5, 0))
    rewards, before = [], model.start()
    for situation, action, state in walk(model, policy, world.evidence):
        losses = [
            labeling_loss(model.shown(seen, world.evidence), world.truth, ALPHA) for seen in (before, state)
        ]
        drop = losses[0] - losses[1]
        rewards.append(drop / situation.costs[action])
        before = state
    trajectory = rollout(model, policy, world.evidence, world.truth, ALPHA)
    np.testing.assert_allclose(trajectory.rewards(), rewards, rtol=1e-9)


def test_curve_is_a_step_function_of_the_budget():
    random = np.random.default_rng(2)
    model = random_model(random)
    worlds = [random_world(random) for _ in range(3)]
    runs = [rollout(model, StaticPolicy((0, 5, 0)), w.evidence, w.truth, ALPHA) for w in worlds]
    for run in runs:
        np.testing.assert_array_equal(accuracy_at(run, run.cost), run.accuracy)
        np.testing.assert_array_equal(accuracy_at(run, run.cost[1:] - 1e-9), run.accuracy[:-1])
    grid = budget_grid([runs])
    assert grid[0] == pytest.approx(min(run.cost[1] for run in runs))
    assert mean_curve(runs, grid)[-1] == pytest.approx(np.mean([run.accuracy[-1] for run in runs]))
    assert area_over_log_cost(runs, grid) <= max(run.accuracy.max() for run in runs)


def test_a_learned_policy_follows_its_guide_unless_something_is_clearly_better():
    random = np.random.default_rng(3)
    world, model = random_world(random), random_model(random)
    q = learned(random, model).q
    guide = (0, 5, 0)
    loyal = LearnedPolicy(q, np.inf, guide, margin=np.inf)
    assert [a for _, a, _ in walk(model, loyal, world.evidence)] == [
        a for _, a, _ in walk(model, StaticPolicy(guide), world.evidence)
    ]
    free = LearnedPolicy(q, np.inf, guide, margin=0.0)
    situation = model.situation(model.start())
    values = np.where(situation.offered, q.values(situation.phi), -np.inf)
    assert free.choose(situation) == int(np.argmax(values))


def test_what_is_left_of_a_sequence_ignores_actions_that_are_not_in_it():
    assert remaining((1, 2, 3), ()) == (1, 2, 3)
    assert remaining((1, 2, 3), (7, 2)) == (3,)
    assert remaining((1, 2, 1), (1, 1)) == ()
