import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.server.pressure import FILLED, LOST, Pressure


class Clock:
    """A clock that is set by hand, in seconds."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def under(arrivals, workers=1, seconds=1.0):
    """The pressure after some arrivals that found all workers busy, evenly over so many seconds."""
    clock = Clock()
    pressure = Pressure(workers, clock)
    pressure.set_busy(True)
    for slack in arrivals:
        clock.now += seconds / len(arrivals)
        pressure.note_arrival(slack)
    return pressure, clock


def test_who_is_alone_may_have_all_the_time():
    clock = Clock()
    pressure = Pressure(1, clock)
    for _ in range(50):  # one client that waits for each answer never finds the worker busy
        clock.now += 0.02
        pressure.note_arrival(5.0)
        pressure.set_busy(True)
        clock.now += 0.01
        pressure.set_busy(False)
    assert pressure.longest_ms() == math.inf


def test_short_budgets_of_others_bound_what_one_may_have():
    pressure, _ = under([6.0] * 30 + [90.0] * 60)
    longest = pressure.longest_ms()
    assert 30 * (longest - 6) / 1000 == pytest.approx(LOST)


def test_all_that_comes_must_fit():
    pressure, _ = under([1000.0] * 100)
    assert pressure.longest_ms() == pytest.approx(FILLED * 10)


@given(st.lists(st.floats(0, 200), min_size=1, max_size=60), st.integers(1, 8))
def test_few_are_lost_and_more_workers_give_more_time(slacks, workers):
    one, _ = under(slacks)
    many, _ = under(slacks, workers)
    longest = many.longest_ms()
    assert longest >= one.longest_ms()
    lost = sum(max(0.0, longest / workers - slack) for slack in slacks) / 1e3
    assert lost <= LOST + 1e-9


def test_what_was_long_ago_is_forgotten():
    pressure, clock = under([5.0] * 50)
    pressure.set_busy(False)
    clock.now += 3.0
    assert pressure.longest_ms() == math.inf
