"""What fits the time that is left."""

import pytest

from anyscene.engine.foresight import STEADY, WHOLE_SPLIT, WHOLE_UPDATE, Foresight
from anyscene.features.costs import CostModel, StepCost
from tests.worlds import some_costs

STEPS = {WHOLE_UPDATE: StepCost(0.5, 0.0, 0.0, 1.5), WHOLE_SPLIT: StepCost(2.0, 0.0, 0.0, 1.2)}
FORESIGHT = Foresight(some_costs(), CostModel("made up", STEPS))


def test_an_action_fits_if_hardly_any_of_its_kind_takes_longer():
    most = FORESIGHT.most_that_fits(20.0)
    assert most.update == pytest.approx((20 - 0.5) / 1.5)
    assert most.split == pytest.approx((20 - 2) / 1.2)


def test_that_the_machine_is_slow_counts_once():
    usual, slightly, very = (FORESIGHT.most_that_fits(20.0, slowness).update for slowness in (1.0, 1.2, 3.0))
    assert slightly == usual
    assert very == pytest.approx((20 - 0.5) / (STEADY * 3))
