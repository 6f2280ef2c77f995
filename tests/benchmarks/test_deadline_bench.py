"""What the deadline bench counts as late and as miscalibrated."""

import numpy as np
import pytest

from anyscene.data import Classes
from anyscene.labeling import Labeling
from benchmarks.deadline import expected_calibration_error, is_late, reliability

CLASSES = Classes(("sky", "road"), np.zeros((2, 3), np.uint8))


def labeling(labels, confidence, cost=0.0):
    return Labeling(np.array([labels], np.int16), CLASSES, np.array([confidence], np.float32), cost)


@pytest.mark.parametrize(
    ("budget", "cost", "late"), [(2, 2.4, False), (2, 2.6, True), (100, 104, False), (100, 106, True)]
)
def test_late_is_more_than_five_percent_or_half_a_millisecond_over(budget, cost, late):
    assert is_late(cost, budget) is late


def test_confidence_that_is_right_as_often_as_it_says_has_no_error():
    out = labeling([0, 0, 0, 0], [0.75] * 4)
    assert expected_calibration_error(reliability(out, np.array([[0, 0, 0, 1]]))) == pytest.approx(0)


def test_the_error_is_the_gap_weighted_by_known_pixels():
    out = labeling([0, 0, 1, 1, 1], [0.9, 0.9, 0.5, 0.5, 0.1])
    truth = np.array([[0, 1, 1, 1, -1]])
    assert expected_calibration_error(reliability(out, truth)) == pytest.approx((2 * 0.4 + 2 * 0.5) / 4)
