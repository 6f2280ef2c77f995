"""The compiled choice is the policy's choice, in every state and for every time that is left."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.engine.deciding import LearnedDecider, PolicyDecider, decider_for
from anyscene.engine.foresight import Foresight, Most
from anyscene.features.costs import CostModel
from anyscene.model.plans import Plan
from anyscene.model.policies import LearnedPolicy, LinearQ, StaticPolicy
from tests.worlds import random_model, seeds, some_costs, walk_randomly


def some_policy(random, model, stop_below=-np.inf):
    phi = model.situation(model.start()).phi
    parts = (len(phi.state), phi.action.shape[1], phi.own.shape)
    return LearnedPolicy(LinearQ(*(random.normal(size=size) for size in parts)), stop_below)


@given(seeds, st.integers(0, 8), st.floats(0.2, 20) | st.just(np.inf), st.floats(0.4, 1.4), st.floats(-3, 3))
def test_both_ways_decide_alike(seed, steps, most, share, stop_below):
    random = np.random.default_rng(seed)
    _, model, state = walk_randomly(seed, steps)
    policy = some_policy(random, model, stop_below)
    foresight = Foresight(some_costs(), CostModel("made up", {}))
    limits = Most(most, most / 2)
    fast = LearnedDecider(model, policy, foresight).decide(lambda: state, (), share, limits)
    slow = PolicyDecider(model, policy, foresight).decide(lambda: state, (), share, limits)
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
    foresight = Foresight(some_costs(), CostModel("made up", {}))
    price = model.situation(state).costs
    updates = [4, 5, 6, 7]
    cheap, dear = min(updates, key=price.__getitem__), max(updates, key=price.__getitem__)
    plans = (Plan((cheap,), (0.1, 0.1 + price[cheap])), Plan((dear,), (0.1, 0.1 + price[dear])))
    policy = some_policy(random, model)
    decider = LearnedDecider(model, policy, foresight, plans)

    def choice(most, taken=()):
        return decider.decide(lambda: state, taken, 1.0, Most(most, most))

    assert choice(price[dear] + 0.01).action == dear
    assert choice(price[dear] - 0.01).action == cheap
    assert choice(price[cheap] - 0.01) is None  # what is cheaper than every plan is not worth it
    assert choice(price[dear] + 0.01, (cheap,)) is None  # carried out, and no plan goes on from there
    unplanned = LearnedDecider(model, policy, foresight).decide(lambda: state, (), 1.0, Most(np.inf, np.inf))
    assert choice(np.inf) == unplanned
