import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.server.estimates import Estimates, Running, high_of_sum


def test_a_high_estimate_is_hardly_exceeded():
    random = np.random.default_rng(0)
    running = Running(5.0)
    exceeded = 0
    for value in random.normal(5, 1, 3000):
        exceeded += value > running.high
        running.note(value)
    assert 0.01 < exceeded / 3000 < 0.12


def test_estimates_follow_the_machine():
    running = Running(1.0)
    for _ in range(40):
        running.note(3.0)
    assert running.mean == pytest.approx(3.0, rel=0.02)


@given(st.floats(0.1, 100))
def test_one_wild_value_does_not_decide(value):
    running = Running(value)
    running.note(1000 * value + 1000)
    assert running.mean < 2 * value + 1


def test_larger_pictures_are_expected_to_take_in_proportion():
    estimates = Estimates([("decode", "jpeg", 2**16, 2.0)])
    assert estimates.of("decode", "jpeg", 2**18).mean == 8.0
    assert estimates.of("decode", "jpeg", 2**10).mean == 2.0
    assert estimates.of("decode", "png", 2**10).mean == 0.0


def test_estimates_that_keep_everybody_out_go_back():
    estimates = Estimates([("decode", "jpeg", 100, 2.0)])
    for _ in range(50):
        estimates.note("decode", "jpeg", 100, 9.0)
    assert estimates.of("decode", "jpeg", 100).mean > 8
    for _ in range(100):
        estimates.forget()
    assert estimates.of("decode", "jpeg", 100).high < 3


@given(st.lists(st.floats(0, 50), min_size=1, max_size=6))
def test_a_sum_lies_between_its_means_and_its_highs(means):
    parts = [Running(mean) for mean in means]
    assert sum(means) <= high_of_sum(parts) + 1e-9
    assert high_of_sum(parts) <= sum(part.high for part in parts) + 1e-9


def test_what_was_measured_on_a_busy_machine_is_corrected_and_nothing_else():
    estimates = Estimates([("first", "small", 1000, 30.0)])
    for _ in range(50):
        estimates.note_sooner("first", "small", 1000, 2.0)
    assert 2.0 < estimates.of("first", "small", 1000).mean < 5.0
    right = estimates.of("first", "small", 1000).mean
    estimates.note_sooner("first", "small", 1000, 0.8 * right)
    assert estimates.of("first", "small", 1000).mean == right
