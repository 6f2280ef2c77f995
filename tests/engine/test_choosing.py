"""Who chooses the next action: plans by a deadline, sequences and policies without one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.costs.deadline import REFERENCE, UNLIMITED, Limits, LocalCosts
from anyscene.costs.plans import stages
from anyscene.costs.steps import CostModel, StepCost
from anyscene.engine.choosing import Moment, PlanChooser, PolicyChooser, SequenceChooser, choosers_for
from anyscene.engine.learned import Learned
from anyscene.policy.plans import Plan
from anyscene.policy.policies import LearnedPolicy, LinearQ, StaticPolicy
from tests.worlds import random_model, seeds, some_costs, walk_randomly


def some_policy(random, model, stop_below=-np.inf):
    phi = model.situation(model.start()).phi
    parts = (len(phi.state), phi.action.shape[1], phi.own.shape)
    guide = tuple(random.permutation(len(model.pool.actions))[: random.integers(5)].tolist())
    margin = float(random.choice([0.0, 0.3, np.inf]))
    return LearnedPolicy(LinearQ(*(random.normal(size=size) for size in parts)), stop_below, guide, margin)


def local_costs(steps=None):
    return LocalCosts(some_costs(), CostModel("made up", steps or {}))


@given(seeds, st.integers(0, 8), st.floats(0.2, 20) | st.just(np.inf), st.floats(0.4, 1.4))
def test_a_policy_is_offered_only_what_fits(seed, steps, most, share):
    random = np.random.default_rng(seed)
    _, model, state = walk_randomly(seed, steps)
    policy, local = some_policy(random, model), local_costs()
    frame = (round(360 * share), 480)
    moment = Moment(lambda: state, (), frame, Limits(most, most / 2, most))
    chosen = PolicyChooser(model, policy, local).choose(moment)
    situation = model.situation(state)
    if chosen is None:
        free = PolicyChooser(model, policy, local).choose(moment._replace(limits=UNLIMITED))
        assert free is None or most < np.inf
        return
    assert situation.offered[chosen.action]
    assert chosen.cost == pytest.approx(situation.costs[chosen.action])
    is_split = model.pool.chain_of[chosen.action] < 0
    assert chosen.predicted_ms <= (most / 2 if is_split else most)


def learned(model, policy, plans=(), policy_ms=None):
    return Learned(model, policy, lambda threads: {}, None, plans=plans, policy_ms=policy_ms)


def test_plans_choose_by_a_deadline_and_the_policy_without_one():
    random = np.random.default_rng(0)
    model = random_model(random)
    plan = Plan((4,), (0.1, 0.5))
    steps = {stage.step: StepCost(1.0, 0, 0, 1.2) for stage in stages(plan, model.pool)}
    with_plans = choosers_for(learned(model, some_policy(random, model), (plan,)), local_costs(steps))
    assert isinstance(with_plans.for_budget(10.0), PlanChooser)
    assert isinstance(with_plans.for_budget(np.inf), PolicyChooser)
    without_plans = choosers_for(learned(model, StaticPolicy((0, 1))), local_costs())
    assert isinstance(without_plans.for_budget(10.0), PolicyChooser)
    assert not isinstance(without_plans.for_budget(np.inf), SequenceChooser)  # splits depend on the state


def test_a_budget_that_is_ample_for_the_policy_is_left_to_it():
    random = np.random.default_rng(0)
    model = random_model(random)
    plan = Plan((4,), (0.1, 0.5))
    steps = {stage.step: StepCost(1.0, 0, 0, 1.2) for stage in stages(plan, model.pool)}
    policy = some_policy(random, model)
    choosers = choosers_for(learned(model, policy, (plan,), policy_ms=20.0), local_costs(steps))
    assert isinstance(choosers.for_budget(20.0), PlanChooser)
    assert isinstance(choosers.for_budget(1000.0), PolicyChooser)


def test_by_a_deadline_the_best_plan_that_fits_is_carried_out():
    _, model, state = walk_randomly(0, 0)
    cheap, dear = 4, 7
    plans = (Plan((cheap,), (0.1, 0.5)), Plan((dear,), (0.1, 3.1)))
    steps = {}
    for plan, ms in zip(plans, (0.4, 3.0), strict=True):
        action, rest = stages(plan, model.pool)
        steps |= {action.step: StepCost(ms, 0.0, 0.0, 1.2), rest.step: StepCost(0.2, 0.0, 0.0, 1.2)}
    assert len(steps) == 4
    chooser = PlanChooser(model, plans, local_costs(steps))

    def choice(most, taken=()):
        return chooser.choose(Moment(lambda: state, taken, REFERENCE, Limits(most, most, most)))

    assert choice(3.2) == (dear, 3.0, 3.0, 0.2)
    assert choice(3.1).action == cheap
    assert choice(0.5) is None  # what is cheaper than every plan is not worth it
    assert choice(3.2, (cheap,)) is None  # carried out, and no plan goes on from there
    assert chooser.first_labels(REFERENCE).action == cheap
