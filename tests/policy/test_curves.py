"""Scores of anytime curves, by hand."""

import numpy as np
import pytest

from anyscene.policy.curves import NEARLY, score_against

STATIC = np.array([0.5, 0.5, 0.7, 0.9])


def test_a_curve_against_itself_scores_its_area():
    assert score_against(STATIC, STATIC, shortfall=3.0, sooner=3.0) == pytest.approx(STATIC.mean())


def test_falling_behind_the_static_curve_and_behind_itself_both_count():
    curve = np.array([0.6, 0.4, 0.7, 0.9])
    assert score_against(curve, STATIC, shortfall=0.5, sooner=0.0) == pytest.approx(0.65 - 0.5 * (0.1 + 0.2))


@pytest.mark.parametrize(
    ("curve", "lead"),
    [
        ([0.5, 0.5, 0.9, 0.9], 1 / 4),
        ([0.5, 0.9 - NEARLY, 0.9, 0.9], 2 / 4),
        ([0.5, 0.5, 0.7, 0.8], -1 / 4),
    ],
)
def test_having_the_static_curves_best_sooner_counts_as_a_share_of_the_budgets(curve, lead):
    curve = np.array(curve)
    score = score_against(curve, STATIC, shortfall=0.0, sooner=2.0)
    assert score == pytest.approx(curve.mean() + 2 * lead)
