"""From the costs of steps to those of actions."""

import numpy as np
import pytest

from anyscene.costs.actions import action_costs, with_painting
from anyscene.costs.overheads import OVERHEADS
from anyscene.costs.painting import measure_leaves, measure_painting
from anyscene.features.random_bank import random_bank


@pytest.fixture(scope="module")
def bank():
    sets = random_bank(np.random.default_rng(0))
    return {name: sets[name] for name in ("position", "place", "semantics")}


def priced(bank):
    frame = np.random.default_rng(0).integers(0, 256, (90, 120, 3), dtype=np.uint8)
    return action_costs(bank, frame, lambda work: 1.0, np.full(8, 3.0), dict.fromkeys(OVERHEADS, 0.5))


def test_sets_pay_for_what_painting_their_map_takes_more_than_was_charged_at_the_start(bank):
    plain = priced(bank)
    costs = with_painting(plain, tuple(bank), {"place": 0.2, "semantics": 0.8}, 0.3)
    more = costs.requires @ costs.items - plain.requires @ plain.items
    np.testing.assert_allclose(more, np.broadcast_to([[0.0], [0.0], [0.5]], more.shape))
    assert (costs.start, costs.step) == (plain.start, plain.step)


def test_without_maps_nothing_is_added(bank):
    plain = priced(bank)
    np.testing.assert_array_equal(with_painting(plain, tuple(bank), {}, 0.3).items, plain.items)


def test_painting_is_measured_for_sets_that_show_detail(bank):
    frame = np.zeros((60, 80, 3), np.uint8)
    painting = measure_painting(bank, frame, 11, rounds=3)
    assert set(painting) == {"place"}
    assert painting["place"] > 0


def test_painting_leaves_is_measured():
    frame = np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)
    assert 0 < measure_leaves(frame, rounds=3) < 1e3
