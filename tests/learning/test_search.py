"""What a search over settings compares."""

import numpy as np
import pytest

from anyscene.learning.search import common_areas


def test_areas_are_over_the_same_budgets():
    late = {"ms": [2.0, 4.0], "accuracy": [0.5, 0.8]}
    early = {"ms": [1.0, 2.0, 4.0, 8.0], "accuracy": [0.1, 0.5, 0.8, 0.8]}
    areas = common_areas({"late": late, "early": early})
    assert areas["late"] == pytest.approx(areas["early"])
    assert 0.5 < areas["late"] < 0.8


def test_a_curve_that_ends_keeps_its_last_accuracy():
    short = {"ms": [1.0, 2.0], "accuracy": [0.6, 0.9]}
    long = {"ms": [1.0, 100.0], "accuracy": [0.6, 0.9]}
    areas = common_areas({"short": short, "long": long})
    assert areas["short"] > areas["long"]
    assert areas["short"] == pytest.approx(0.6 + 0.3 * (1 - np.log(2) / np.log(100)), abs=0.01)
