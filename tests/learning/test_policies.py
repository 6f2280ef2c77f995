"""Which policy is taken: a bolder one, or one that goes on for longer, only where it is surely better."""

import numpy as np
import pytest

from anyscene.learning.policies import Judged, choose_stop


def judged(score, areas):
    return Judged(policy=None, score=score, areas=np.array(areas))


HERE = judged(0.50, [0.4, 0.5, 0.6])
SURELY = judged(0.52, [0.42, 0.52, 0.62])
PERHAPS = judged(0.52, [0.2, 0.5, 0.86])


def test_better_on_every_image_is_surely_better_and_better_on_one_is_not():
    assert SURELY.surely_better_than(HERE)
    assert not PERHAPS.surely_better_than(HERE)
    assert not SURELY.surely_better_than(HERE, by=0.03)
    assert not HERE.surely_better_than(HERE)


@pytest.mark.parametrize(("going_on", "taken"), [(SURELY, SURELY), (PERHAPS, HERE)])
def test_who_has_a_guide_stops_at_its_end_unless_going_on_is_surely_better(going_on, taken):
    assert choose_stop([going_on, HERE], guided=True) is taken


def test_without_a_guide_the_highest_score_decides_and_of_equal_ones_the_first_to_stop():
    assert choose_stop([PERHAPS, HERE], guided=False) is PERHAPS
    assert choose_stop([PERHAPS, SURELY, HERE], guided=False) is SURELY
