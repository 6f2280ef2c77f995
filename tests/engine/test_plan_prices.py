"""What plans are timed as, and what they are foretold to take in frames of any size."""

from dataclasses import replace

import pytest

from anyscene.engine.foresight import REFERENCE
from anyscene.engine.plan_prices import plan_work, price
from anyscene.features.costs import CostModel, StepCost
from anyscene.model.actions import Pool, Split, Update
from anyscene.model.plans import Plan
from tests.worlds import blend_chain

SETS = ("place", "hypercolumn@250", "hypercolumn@500")
CHAINS = tuple(blend_chain(sources) for sources in ([0], [0, 1], [0, 1, 2]))
POOL = Pool(SETS, CHAINS, (Split(0.3), Update(0, 1), Update(1, 1), Update(2, 1)), 3, 5, (1, 2))
PLAN = Plan((1, 2, 3), (0.1, 0.5, 2.0, 9.0))


def test_each_action_is_named_by_all_that_was_looked_at_and_sized_by_what_is_newly_read():
    work = plan_work(PLAN, POOL, REFERENCE)
    assert [each.step for each in work.actions] == [
        "plan:place x1",
        "plan:place x1 > place+hypercolumn@250 x1",
        "plan:place x1 > place+hypercolumn@250 x1 > place+hypercolumn@250+hypercolumn@500 x1",
    ]
    assert [each.pixels for each in work.actions] == [360 * 480, 96 * 128, 192 * 256]
    assert work.rest.pixels == 192 * 256
    assert work.rest.step == work.actions[-1].step.replace("plan:", "rest:")


def test_splits_have_names_of_their_own():
    (first, second), _ = plan_work(Plan((0, 1), (0.0, 1.0, 2.0)), POOL, REFERENCE)
    assert (first.step, second.step) == ("plan:split 0.3", "plan:split 0.3 > place x1")


def test_models_of_the_same_sets_share_what_was_timed():
    moved = replace(POOL, actions=(Update(2, 1), Update(1, 1), Update(0, 1)))
    assert plan_work(Plan((2, 1, 0), PLAN.cost), moved, REFERENCE) == plan_work(PLAN, POOL, REFERENCE)


def test_a_plan_takes_longer_in_a_larger_frame():
    work = plan_work(PLAN, POOL, REFERENCE)
    steps = {each.step: StepCost(0.1, 1e-4, 0.0, 1.2) for each in (*work.actions, work.rest)}
    small, large = (
        price(PLAN, POOL, frame, CostModel("made up", steps)) for frame in ((180, 240), REFERENCE)
    )
    assert large.costs == pytest.approx([0.1 + 1e-4 * each.pixels for each in work.actions])
    assert all(here < there for here, there in zip(small.costs, large.costs, strict=True))
    assert small.rest_ms < large.rest_ms
    assert large.begins_anew
