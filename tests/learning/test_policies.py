"""Which policy is taken: a bolder one, or one that goes on for longer, only where that is hardly chance."""

import numpy as np
import pytest

from anyscene.learning.policy.policies import Judged, _stopped, choose_stop
from anyscene.policy.rollout import Trajectory


def judged(score, gains, toll=0.0):
    return Judged(policy=None, score=score, gains=np.array(gains), toll=toll)


HERE = judged(0.50, [0.0, 0.0, 0.0])
SURELY = judged(0.52, [0.02, 0.02, 0.02])
PERHAPS = judged(0.52, [-0.2, 0.0, 0.26])


def test_better_on_every_image_is_surely_better_and_better_on_one_is_not():
    assert SURELY.surely_better_than(HERE)
    assert not PERHAPS.surely_better_than(HERE)
    assert not HERE.surely_better_than(HERE)


def test_of_equal_scores_that_is_worth_more_which_is_less_in_doubt():
    assert SURELY.worth == SURELY.score > PERHAPS.worth


def test_who_looks_at_states_must_gain_what_that_takes():
    assert judged(0.5201, [0.0201] * 3, toll=0.0005).worth < SURELY.worth < judged(0.5201, [0.0201] * 3).worth
    assert judged(0.53, [0.03] * 3, toll=0.0005).worth > SURELY.worth


@pytest.mark.parametrize(("going_on", "taken"), [(SURELY, SURELY), (PERHAPS, HERE)])
def test_who_has_a_guide_stops_at_its_end_unless_going_on_is_surely_better(going_on, taken):
    assert choose_stop([going_on, HERE], guided=True) is taken


def test_without_a_guide_the_highest_score_decides_and_of_equal_ones_the_first_to_stop():
    assert choose_stop([PERHAPS, HERE], guided=False) is PERHAPS
    assert choose_stop([PERHAPS, SURELY, HERE], guided=False) is SURELY


def test_a_level_ends_what_q_chose_and_never_what_the_guide_did():
    run = Trajectory(np.arange(4), np.arange(5.0), np.zeros(5), np.arange(5) / 10)
    values = np.array([np.nan, np.nan, 0.3, 0.1])  # two steps of a guide, then by Q̂
    assert [len(_stopped(values, run, level).actions) for level in (-np.inf, 0.2, 0.3, np.inf)] == [
        4,
        3,
        2,
        2,
    ]
