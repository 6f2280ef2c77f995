"""What fits the time that is left."""

import pytest

from anyscene.costs.deadline import (
    OWN_STEPS,
    SPARE,
    STEADY,
    WHOLE_PLAN,
    WHOLE_SPLIT,
    WHOLE_UPDATE,
    LocalCosts,
    SizeCosts,
    costs_at_size,
    frame_share,
)
from anyscene.costs.steps import CostModel, StepCost
from tests.worlds import some_costs

STEPS = {
    **dict.fromkeys(OWN_STEPS, StepCost(0.1, 1e-6, 1e-3, 2.0)),
    WHOLE_UPDATE: StepCost(0.5, 0.0, 0.0, 1.5),
    WHOLE_SPLIT: StepCost(2.0, 0.0, 0.0, 1.2),
    WHOLE_PLAN: StepCost(0.5, 0.0, 0.0, 1.25),
}
LOCAL = LocalCosts(some_costs(), CostModel("made up", STEPS))
AT = SizeCosts((360, 480), framing=0.0, painting=1.0, enlarging=0.0, confidence=0.0)


def test_an_action_fits_if_hardly_any_of_its_kind_takes_longer():
    limits = LOCAL.limits(21.0, AT)
    assert limits.update == pytest.approx((20 - 0.5) / 1.5)
    assert limits.split == pytest.approx((20 - 2) / 1.2)


def test_that_the_machine_is_slow_counts_once():
    usual, slightly, very = (LOCAL.limits(21.0, AT, slowness).update for slowness in (1.0, 1.2, 3.0))
    assert slightly == usual
    assert very == pytest.approx((20 - 0.5) / (STEADY * 3))


def test_a_plan_includes_its_painting_but_not_what_enlarges_it():
    assert LOCAL.limits(20.5, AT).plan == pytest.approx(20 / 1.25)
    assert LOCAL.limits(20.5, AT, slowness=2.0).plan == pytest.approx(20 / 2.5)
    assert LOCAL.limits(20.5, AT._replace(enlarging=5.0)).plan == pytest.approx(15 / 1.25)


def test_what_is_risked_is_what_typically_fits():
    assert LOCAL.limits(20.5, AT).risked == pytest.approx(20.5 / SPARE)
    large = AT._replace(enlarging=5.0)
    assert LOCAL.limits(20.5, large, slowness=2.0).risked == pytest.approx(20.5 / SPARE / 2 - 5)


def test_first_labels_fit_whenever_they_can_be_there_in_time():
    assert LOCAL.limits(3.0, AT).first == pytest.approx(3.0)
    assert LOCAL.limits(3.0, AT._replace(enlarging=0.5), slowness=2.0).first == pytest.approx(1.0)


def test_large_images_wait_for_their_frame_and_for_their_labels_to_be_enlarged():
    small, large = (costs_at_size(LOCAL, size, shows_detail=True) for size in ((360, 480), (1080, 1440)))
    assert small.frame == large.frame == (360, 480)
    assert frame_share((360, 480)) == frame_share((1080, 1440)) == 1.0
    assert small.framing == small.enlarging == 0.0
    assert large.framing > 0
    assert large.painting == pytest.approx(small.painting + large.enlarging)
