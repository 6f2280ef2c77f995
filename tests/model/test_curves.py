"""Scores of anytime curves, by hand."""

import numpy as np
import pytest

from anyscene.model.curves import cost_to_reach, score_against

STATIC = np.array([0.5, 0.5, 0.7, 0.9])


def test_a_curve_against_itself_scores_its_area():
    assert score_against(STATIC, STATIC, shortfall=3.0) == pytest.approx(STATIC.mean())


def test_falling_behind_the_static_curve_and_behind_itself_both_count():
    curve = np.array([0.6, 0.4, 0.7, 0.9])
    assert score_against(curve, STATIC, shortfall=0.5) == pytest.approx(0.65 - 0.5 * (0.1 + 0.2))


def test_an_accuracy_costs_the_first_budget_that_reaches_it():
    budgets = np.array([1.0, 2.0, 4.0, 8.0])
    assert cost_to_reach(STATIC, budgets, 0.7) == 4.0
    assert cost_to_reach(STATIC, budgets, 0.5) == 1.0
    assert cost_to_reach(STATIC, budgets, 0.91) == np.inf
