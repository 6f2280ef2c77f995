import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.server.pressure import FILLED, Pressure


class Clock:
    """A clock that is set by hand, in seconds."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def under(arrivals, workers=1):
    """The pressure after so many arrivals within a second that found all workers busy."""
    clock = Clock()
    pressure = Pressure(workers, clock)
    pressure.set_busy(True)
    for _ in range(arrivals):
        clock.now += 1 / arrivals
        pressure.note_arrival()
    return pressure, clock


def test_who_is_alone_may_have_all_the_time():
    clock = Clock()
    pressure = Pressure(1, clock)
    for _ in range(50):  # one client that waits for each answer never finds the worker busy
        clock.now += 0.02
        pressure.note_arrival()
        pressure.set_busy(True)
        clock.now += 0.01
        pressure.set_busy(False)
    assert pressure.longest_ms() == math.inf


@given(st.integers(1, 500), st.integers(1, 8))
def test_all_that_comes_must_fit(arrivals, workers):
    pressure, _ = under(arrivals, workers)
    assert arrivals * pressure.longest_ms() == pytest.approx(FILLED * workers * 1000)


def test_what_was_long_ago_is_forgotten():
    pressure, clock = under(50)
    pressure.set_busy(False)
    clock.now += 3.0
    assert pressure.longest_ms() == math.inf
