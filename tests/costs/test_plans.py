"""What plans are timed as, and what they are foretold to take in frames of any size."""

from dataclasses import replace

import pytest

from anyscene.costs.deadline import REFERENCE
from anyscene.costs.plans import PlanPrices, stages, work_of
from anyscene.costs.steps import CostModel, StepCost
from anyscene.model.actions import Pool, Split, Update
from anyscene.policy.plans import Plan
from tests.worlds import blend_chain

SETS = ("place", "hypercolumn@250", "hypercolumn@500")
CHAINS = tuple(blend_chain(sources) for sources in ([0], [0, 1], [0, 1, 2]))
POOL = Pool(SETS, CHAINS, (Split(0.3), Update(0, 1), Update(1, 1), Update(2, 1)), 3, 5, (1, 2))
PLAN = Plan((1, 2, 3), (0.1, 0.5, 2.0, 9.0))
WITH_SPLIT = Plan((0, 1), (0.0, 5.0, 5.1))


def same_for_all(plans, cost):
    """A calibration in which every stage of some plans takes the same."""
    return CostModel("made up", {stage.step: cost for plan in plans for stage in stages(plan, POOL)})


def test_each_action_is_named_by_all_that_was_looked_at_and_sized_by_what_is_newly_read():
    work = [work_of(stage, REFERENCE) for stage in stages(PLAN, POOL)]
    assert [each.step for each in work] == [
        "plan:place x1",
        "plan:place x1 > place+hypercolumn@250 x1",
        "plan:place x1 > place+hypercolumn@250 x1 > place+hypercolumn@250+hypercolumn@500 x1",
        "rest:place x1 > place+hypercolumn@250 x1 > place+hypercolumn@250+hypercolumn@500 x1",
    ]
    assert [each.pixels for each in work] == [360 * 480, 96 * 128, 192 * 256, 192 * 256]


def test_splits_have_names_of_their_own():
    first, second, _ = stages(WITH_SPLIT, POOL)
    assert (first.step, second.step) == ("plan:split 0.3", "plan:split 0.3 > place x1")
    assert (first.splits, second.splits) == (True, False)


def test_models_of_the_same_sets_share_what_was_timed():
    moved = replace(POOL, actions=(Update(2, 1), Update(1, 1), Update(0, 1)))
    assert stages(Plan((2, 1, 0), PLAN.cost), moved) == stages(PLAN, POOL)


def test_a_plan_takes_longer_in_a_larger_frame():
    prices = PlanPrices([PLAN], POOL, same_for_all([PLAN], StepCost(0.1, 1e-4, 0.0, 1.2)))
    (small,), (large,) = prices.at((180, 240)), prices.at(REFERENCE)
    pixels = [work_of(stage, REFERENCE).pixels for stage in stages(PLAN, POOL)]
    assert (*large.costs, large.rest_ms) == pytest.approx([0.1 + 1e-4 * each for each in pixels])
    assert all(here < there for here, there in zip(small.costs, large.costs, strict=True))
    assert small.rest_ms < large.rest_ms
    assert large.begins_anew


def test_what_splits_open_elsewhere_counts_where_a_calibration_saw_less():
    plans = [Plan((1,), (0.0, 1.0)), Plan((2,), (0.0, 2.0)), WITH_SPLIT]
    prices = PlanPrices(plans, POOL, same_for_all(plans, StepCost(1.0, 0.0, 0.0, 1.2)))
    *plain, split = prices.at(REFERENCE)
    assert [priced.costs for priced in plain] == [(1.0,), (1.0,)]
    assert [priced.runs_network for priced in (*plain, split)] == [False, True, False]
    pace = 1.0  # the middle of 2 ms over 1.0, 2 over 2.0, and 3 over 5.1
    assert split.costs == pytest.approx((5.0 * pace, 1.0))
    assert split.rest_ms == 1.0
