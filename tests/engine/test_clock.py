"""Budgets: what may be written, and what is refused in one sentence."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.engine.clock import Clock, parse_budget
from anyscene.errors import ConfigError


@pytest.mark.parametrize(
    ("written", "ms"),
    [
        ("20ms", 20),
        ("1.5s", 1500),
        (" 250 µs ", 0.25),
        ("2MIN", 120_000),
        (".5 s", 500),
        (7, 7),
        (0, 0),
        (2.5, 2.5),
    ],
)
def test_budgets_are_milliseconds(written, ms):
    assert parse_budget(written) == pytest.approx(ms)


def test_no_budget_never_ends():
    assert parse_budget(None) == math.inf
    assert not Clock(parse_budget(None)).has_deadline


@given(st.floats(0, 1e6))
def test_a_number_is_taken_as_it_is(ms):
    assert parse_budget(ms) == ms
    assert parse_budget(f"{ms!r}ms") == ms


@pytest.mark.parametrize(
    "wrong", ["", "fast", "20", "20 km", "-5ms", "ms", "1..5s", -1, float("nan"), True, [20]]
)
def test_what_is_no_budget_is_refused_with_what_to_write(wrong):
    with pytest.raises(ConfigError, match=r"20ms.*1\.5s"):
        parse_budget(wrong)


def test_a_clock_only_goes_forward():
    clock = Clock(50.0)
    first, second = clock.elapsed(), clock.elapsed()
    assert 0 <= first <= second
    assert clock.remaining() <= 50 - second


def test_a_number_that_is_most_likely_seconds_is_doubted():
    with pytest.warns(UserWarning, match=r"0\.02 milliseconds; for seconds write '0\.02s'"):
        assert parse_budget(0.02) == 0.02


@pytest.mark.parametrize("budget", [0, 1, 20.5, "0.02ms", None])
def test_other_budgets_are_not_doubted(budget, recwarn):
    parse_budget(budget)
    assert not recwarn
