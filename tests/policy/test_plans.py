"""Plans: the best that fits the time, step by step, and an end when it is carried out."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from anyscene.policy.plans import Plan, Priced, first_labels, pursue

PLANS = (Plan((0,), (0.0, 2.0)), Plan((1,), (0.0, 5.0)), Plan((0, 2), (0.0, 2.0, 9.0)))
COSTS = ((2.0,), (5.0,), (2.0, 7.0))
PRICED = [Priced(plan, costs, 0.0, begins_anew=False) for plan, costs in zip(PLANS, COSTS, strict=True)]
ANEW = [replace(priced, begins_anew=True) for priced in PRICED]


def carried_out(time, slowness=1.0):
    """The actions taken within some time, each taking `slowness` times what was foreseen."""
    taken = ()
    price = {0: 2.0, 1: 5.0, 2: 7.0}
    while (following := pursue(PRICED, taken, time)) is not None:
        taken, time = (*taken, following.action), time - slowness * price[following.action]
    return taken


def action(plans, taken, time):
    """The action to be taken next; None if there is none."""
    following = pursue(plans, taken, time)
    return following and following.action


def test_the_best_plan_that_fits_is_carried_out():
    assert carried_out(1.9) == ()
    assert carried_out(4.9) == (0,)
    assert carried_out(8.9) == (1,)
    assert carried_out(9.0) == (0, 2)


def test_a_plan_that_no_longer_fits_ends_where_a_shorter_one_did():
    assert carried_out(9.5, slowness=1.5) == (0,)


def test_what_no_plan_begins_with_is_left_to_the_policy():
    assert action(PRICED, (2,), 100.0) is None


def test_when_a_plan_no_longer_fits_another_takes_its_place_if_that_begins_anew():
    assert action(ANEW, (0,), 6.9) == 1
    assert action(ANEW, (0,), 4.9) is None
    assert action(ANEW, (0, 1), 7.0) == 2
    assert action(PRICED, (0,), 6.9) is None


def test_a_cheap_plan_comes_first_if_it_takes_next_to_nothing():
    cheap = Priced(Plan((3,), (0.0, 0.1)), (0.1,), 0.0, begins_anew=True)
    assert action([cheap, *ANEW], (), 9.5) == 3
    assert action([cheap, *ANEW], (3,), 9.1) == 0
    assert action([cheap, *ANEW], (), 9.05) == 0  # the best plan would no longer fit
    assert action([cheap, *ANEW], (), 2.9) == 0  # a twentieth of the time is too much


def test_what_comes_first_is_the_best_that_takes_next_to_nothing():
    cheap, better = (
        Priced(Plan((n,), (0.0, ms)), (ms,), 0.0, begins_anew=True) for n, ms in ((3, 0.1), (4, 0.2))
    )
    assert action([cheap, better, *ANEW], (), 9.4) == 4
    assert action([cheap, better, *ANEW], (), 9.15) == 3


def test_a_plan_knows_what_each_action_costs():
    assert PLANS[2].step_costs() == [2.0, 7.0]


def test_a_plan_fits_with_all_that_the_call_does_besides():
    slow_to_paint = [replace(PRICED[0], rest_ms=0.5), replace(PRICED[1], rest_ms=3.0)]
    assert action(slow_to_paint, (), 8.0) == 1
    assert action(slow_to_paint, (), 7.9) == 0
    assert action(slow_to_paint, (), 2.4) is None


@given(st.floats(0, 20), st.floats(0, 20))
def test_more_time_never_ends_with_a_worse_plan(some, more):
    rank = {(): -1, **{plan.actions: i for i, plan in enumerate(PLANS)}}
    assert rank[carried_out(some)] <= rank[carried_out(some + more)]


def test_an_action_is_handed_out_with_its_cost_by_the_model_and_on_this_machine():
    dear = Priced(PLANS[2], (3.0, 21.0), 0.5, begins_anew=False)
    assert pursue([dear], (0,), 30.0) == (2, 7.0, 21.0, 0.5)


POOR = Priced(Plan((0,), (0.0, 0.2)), (0.2,), 0.1, begins_anew=True)
CHEAPEST, BETTER = (
    Priced(Plan((n,), (0.0, ms)), (ms,), 0.2, begins_anew=True, runs_network=True)
    for n, ms in ((1, 1.4), (2, 1.5))
)


def following(plans, taken, most, risked):
    chosen = pursue(plans, taken, most, risked)
    return chosen and chosen.action


def test_where_no_network_fits_the_cheapest_is_risked_if_the_first_labels_can_still_come_after_it():
    plans = [POOR, CHEAPEST, BETTER]
    both = POOR.costs[0] + CHEAPEST.costs[0] + CHEAPEST.rest_ms
    assert following(plans, (), 1.0, both + 0.01) == 1
    assert following(plans, (), 1.0, both - 0.01) == 0  # then something to show comes first
    assert following(plans, (0,), 0.8, 1.6) == 1
    assert following(plans, (0,), 0.8, 1.5) is None  # it would hardly ever be there in time
    assert following(plans, (), 1.6, 3.0) == 1  # what fits is no risk, and dearer ones are not risked


def test_where_every_plan_runs_a_network_the_cheapest_is_risked_by_itself():
    assert following([CHEAPEST, BETTER], (), 0.2, 1.6) == 1
    assert following([CHEAPEST, BETTER], (), 0.2, 1.5) is None


def test_a_network_is_not_risked_where_one_has_run_or_a_safe_plan_is_not_carried_out():
    long = Priced(Plan((0, 2, 5), (0.0, 0.2, 1.7, 9.0)), (0.2, 1.5, 7.0), 0.2, True, runs_network=True)
    assert following([POOR, CHEAPEST, BETTER, long], (0, 2), 1.0, 2.0) is None
    assert following([POOR, CHEAPEST], (0, 1), 0.0, 5.0) is None
    more = Priced(Plan((0, 3), (0.0, 0.2, 0.4)), (0.2, 0.2), 0.1, begins_anew=True)
    assert following([POOR, more, CHEAPEST], (0,), 1.0, 2.0) == 3
    assert following([POOR, more, CHEAPEST], (0, 3), 0.8, 2.0) == 1


@given(st.floats(0, 20), st.floats(0, 20))
def test_where_no_plan_runs_a_network_nothing_is_risked(most, risked):
    assert pursue(ANEW, (), most, risked=risked) == pursue(ANEW, (), most)


def test_a_small_network_comes_before_one_that_takes_five_times_as_long():
    long, shorter = (
        Priced(Plan((n,), (0.0, ms)), (ms,), 0.2, begins_anew=True, runs_network=True)
        for n, ms in ((4, 20.0), (3, 6.0))
    )
    plans = [POOR, CHEAPEST, shorter, long]
    assert action(plans, (), 21.7) == CHEAPEST.plan.actions[0]
    assert action(plans, CHEAPEST.plan.actions, 20.3) == 4
    assert action(plans, CHEAPEST.plan.actions, 20.1) == 3  # the look was slow, and so will the long one be
    assert action(plans, (), 21.5) == 3  # a long one without a look is not begun
    assert action(plans, (), 7.0) == 3  # this one is not much longer


def test_where_no_plan_fits_the_first_labels_are_shown_if_they_can_be_there_in_time():
    plans = [POOR, CHEAPEST, BETTER]
    needed = POOR.costs[0] + POOR.rest_ms
    assert first_labels(plans) is POOR
    assert pursue(plans, (), 0.0, first=needed + 0.01).action == POOR.plan.actions[0]
    assert pursue(plans, (), 0.0, first=needed - 0.01) is None
    assert pursue(plans, POOR.plan.actions, 0.0, first=9.0) is None  # they are shown already
    assert first_labels([CHEAPEST, BETTER]) is None
