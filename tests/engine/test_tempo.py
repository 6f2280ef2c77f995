"""How slow the machine is of late."""

import pytest

from anyscene.engine.tempo import LARGEST, LEAST_MS, LONGEST, START, Tempo


def test_a_machine_that_stays_slow_is_known_for_it_after_some_steps():
    tempo = Tempo()
    for _ in range(16):
        tempo.note(2.0, 3.6)
    assert tempo.slowness == pytest.approx(1.8, abs=0.02)


def test_a_faster_machine_than_was_measured_is_used_as_such():
    tempo = Tempo()
    for _ in range(16):
        tempo.note(2.0, 1.5)
    assert tempo.slowness == pytest.approx(0.75, abs=0.02)


def test_one_long_step_is_a_hiccup():
    tempo = Tempo()
    tempo.note(2.0, 500.0)
    assert tempo.slowness == pytest.approx(START * (1 + 0.25 * (LONGEST - 1)))


def test_slowness_ends():
    tempo = Tempo()
    for _ in range(100):
        tempo.note(2.0, 1e6)
    assert tempo.slowness == LARGEST


def test_short_steps_tell_nothing():
    tempo = Tempo()
    tempo.note(LEAST_MS / 2, 10.0)
    assert tempo.slowness == START


def test_where_nothing_fits_any_longer_slowness_is_forgotten():
    tempo = Tempo()
    for _ in range(100):
        tempo.note(2.0, 1e6)
    for _ in range(100):
        tempo.begin()
    assert tempo.slowness == pytest.approx(1.0, abs=0.05)
