"""What steps usually take, as learned from how long they took."""

import pytest

from anyscene.streams.pace import FADING, Pace


def test_a_pace_settles_at_what_the_step_takes():
    pace = Pace(1.0)
    for _ in range(100):
        pace.note(2.0)
    assert pace.ms == pytest.approx(2.0, rel=0.01)


def test_one_interruption_hardly_counts():
    pace = Pace(1.0)
    pace.note(1_000.0)
    assert pace.ms < 1.3


def test_a_step_needs_its_margin_to_fit():
    assert Pace(1.0, 1.5).fits(1.6)
    assert not Pace(1.0, 1.5).fits(1.4)


def test_what_is_too_dear_is_tried_again_at_some_time_and_not_soon():
    pace = Pace(1.0)
    waited = 0
    while not pace.fits(0.9):
        waited += 1
    assert 100 < waited < 1_000
    assert pace.ms == pytest.approx(FADING**waited)
