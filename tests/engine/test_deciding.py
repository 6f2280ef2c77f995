"""The compiled choice is the policy's choice, in every state and for every time that is left."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.engine.deciding import LearnedDecider, PolicyDecider, decider_for
from anyscene.engine.foresight import REFERENCE, UNLIMITED, Foresight, Most
from anyscene.engine.plan_prices import stages
from anyscene.features.costs import CostModel, StepCost
from anyscene.model.plans import Plan
from anyscene.model.policies import ALWAYS, LearnedPolicy, LinearQ, StaticPolicy
from tests.worlds import random_model, seeds, some_costs, walk_randomly


def some_policy(random, model, stop_below=-np.inf):
    phi = model.situation(model.start()).phi
    parts = (len(phi.state), phi.action.shape[1], phi.own.shape)
    guide = tuple(random.permutation(len(model.pool.actions))[: random.integers(5)].tolist())
    loyalty = float(random.choice([0.0, 0.3, ALWAYS]))
    return LearnedPolicy(LinearQ(*(random.normal(size=size) for size in parts)), stop_below, guide, loyalty)


@given(seeds, st.integers(0, 8), st.floats(0.2, 20) | st.just(np.inf), st.floats(0.4, 1.4), st.floats(-3, 3))
def test_both_ways_decide_alike(seed, steps, most, share, stop_below):
    random = np.random.default_rng(seed)
    _, model, state = walk_randomly(seed, steps)
    policy = some_policy(random, model, stop_below)
    foresight = Foresight(some_costs(), CostModel("made up", {}))
    limits, frame = Most(most, most / 2, most), (round(360 * share), 480)
    fast = LearnedDecider(model, policy, foresight).decide(lambda: state, (), frame, limits)
    slow = PolicyDecider(model, policy, foresight).decide(lambda: state, (), frame, limits)
    assert (fast is None) == (slow is None)
    if fast is not None:
        assert fast.action == slow.action
        assert (fast.cost, fast.predicted_ms) == pytest.approx((slow.cost, slow.predicted_ms))


def test_the_fast_way_is_taken_for_learned_policies_only():
    random = np.random.default_rng(0)
    model, foresight = random_model(random), Foresight(some_costs(), CostModel("made up", {}))
    assert isinstance(decider_for(model, some_policy(random, model), foresight), LearnedDecider)
    assert isinstance(decider_for(model, StaticPolicy((0, 1)), foresight), PolicyDecider)


def test_by_a_deadline_the_best_plan_that_fits_is_carried_out():
    random = np.random.default_rng(0)
    _, model, state = walk_randomly(0, 0)
    cheap, dear = 4, 7
    plans = (Plan((cheap,), (0.1, 0.5)), Plan((dear,), (0.1, 3.1)))
    steps = {}
    for plan, ms in zip(plans, (0.4, 3.0), strict=True):
        action, rest = stages(plan, model.pool)
        steps |= {action.step: StepCost(ms, 0.0, 0.0, 1.2), rest.step: StepCost(0.2, 0.0, 0.0, 1.2)}
    assert len(steps) == 4
    foresight = Foresight(some_costs(), CostModel("made up", steps))
    policy = some_policy(random, model)
    decider = LearnedDecider(model, policy, foresight, plans)

    def choice(most, taken=()):
        return decider.decide(lambda: state, taken, REFERENCE, Most(most, most, most))

    assert choice(3.2) == (dear, 3.0, 3.0, 0.2)
    assert choice(3.1).action == cheap
    assert choice(0.5) is None  # what is cheaper than every plan is not worth it
    assert choice(3.2, (cheap,)) is None  # carried out, and no plan goes on from there
    unplanned = LearnedDecider(model, policy, foresight).decide(lambda: state, (), REFERENCE, UNLIMITED)
    assert choice(np.inf) == unplanned
