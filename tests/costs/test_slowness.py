"""How slow the machine is of late."""

import pytest

from anyscene.costs.slowness import LARGEST, LEAST_MS, LONGEST, START, Slowness


def test_a_machine_that_stays_slow_is_known_for_it_after_some_steps():
    slowness = Slowness()
    for _ in range(16):
        slowness.note(2.0, 3.6)
    assert slowness.factor == pytest.approx(1.8, abs=0.02)


def test_a_faster_machine_than_was_measured_is_used_as_such():
    slowness = Slowness()
    for _ in range(16):
        slowness.note(2.0, 1.5)
    assert slowness.factor == pytest.approx(0.75, abs=0.02)


def test_one_long_step_is_a_hiccup():
    slowness = Slowness()
    slowness.note(2.0, 500.0)
    assert slowness.factor == pytest.approx(START * (1 + 0.25 * (LONGEST - 1)))


def test_slowness_ends():
    slowness = Slowness()
    for _ in range(100):
        slowness.note(2.0, 1e6)
    assert slowness.factor == LARGEST


def test_short_steps_tell_nothing():
    slowness = Slowness()
    slowness.note(LEAST_MS / 2, 10.0)
    assert slowness.factor == START


def test_where_nothing_fits_any_longer_slowness_is_forgotten():
    slowness = Slowness()
    for _ in range(100):
        slowness.note(2.0, 1e6)
    for _ in range(100):
        slowness.begin_call()
    assert slowness.factor == pytest.approx(1.0, abs=0.05)
