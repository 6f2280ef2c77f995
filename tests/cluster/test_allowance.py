"""The time of a job is shared fairly, and not exceeded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.cluster.allowance import FEWEST_MS, Allowance


class Clock:
    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds


@given(st.integers(1, 50), st.floats(0, 30), st.floats(10, 1000))
def test_images_that_take_what_they_are_given_end_in_time(images, around_ms, each_ms):
    clock = Clock()
    total = images * (each_ms + around_ms)
    allowance = Allowance(total, images, clock=clock)
    given_ms = []
    while len(given_ms) < images:
        budget = allowance.next_ms()
        assert budget is not None
        given_ms.append(budget)
        clock.seconds += (budget + around_ms) / 1e3
        allowance.took(budget + around_ms, budget)
    assert clock.seconds * 1e3 <= total + around_ms + images * FEWEST_MS + 1e-6


def test_what_one_does_not_use_is_for_the_others():
    clock = Clock()
    allowance = Allowance(100, 2, clock=clock)
    assert allowance.next_ms() == 50
    clock.seconds = 0.010
    assert allowance.next_ms() == pytest.approx(90)


def test_two_at_a_time_get_twice_as_much():
    assert Allowance(100, 4, side_by_side=2, clock=Clock()).next_ms() == 50


def test_nothing_when_time_is_up():
    clock = Clock()
    allowance = Allowance(100, 2, clock=clock)
    clock.seconds = 0.2
    assert allowance.next_ms() is None
