"""Learning when to look: on toy streams whose best decisions are known."""

import numpy as np
import pytest

from anyscene.policy.stream_section import FEATURES
from anyscene.streams.learning import (
    StreamSettings,
    _fitted,
    at_price,
    fixed_policies,
    learn,
    oracle,
    savings,
    with_spends,
)
from anyscene.streams.policies import NOTHING, FixedPeriod, RandomStreamPolicy
from anyscene.streams.simulation import by, outcome, simulate
from tests.streams.toy import streams

SETTINGS = StreamSettings(prices=(0.002, 0.02, 0.1, 0.2, 0.5), horizon=6, iterations=2)
PRICE = SETTINGS.prices[len(SETTINGS.prices) // 2]
POOL = (1, 2)


@pytest.fixture(scope="module")
def learned():
    return learn(
        streams([True, False] * 4), streams([True, False], 50), POOL, SETTINGS, np.random.default_rng(0)
    )


def objective(starts, choose, price=PRICE):
    reached = outcome(starts, choose)
    return reached.loss + price * reached.spent


def test_a_fine_look_truly_saves_more_than_a_coarse_one_where_the_camera_moves():
    start = streams([True])[0]
    coarse, fine = savings(start, POOL, by(FixedPeriod(2, 3)), PRICE, SETTINGS)
    assert fine > coarse
    assert fine > 0.1


def test_nothing_is_saved_by_a_look_at_the_last_frame():
    last = simulate(streams([True])[0], by(FixedPeriod(2, 1)))[-1][0]
    assert (savings(last, POOL, by(FixedPeriod(2, 1)), PRICE, SETTINGS) == 0).all()


def test_the_learned_policy_looks_where_the_camera_moves_and_leaves_a_still_scene_alone(learned):
    choose = by(at_price(learned.pool, learned.coefficients, PRICE))
    moving, still = (
        [action for _, action in simulate(start, choose)] for start in streams([True, False], 90)
    )
    assert sum(action != NOTHING for action in moving) >= 5
    assert still[0] != NOTHING
    assert not any(still[len(still) // 2 :])


def test_deciding_is_worth_more_than_every_fixed_period_and_than_chance(learned):
    unseen = streams([True, False] * 3, 200)
    ours = objective(unseen, by(at_price(learned.pool, learned.coefficients, PRICE)))
    fixed = min(objective(unseen, by(policy)) for policy in fixed_policies(2))
    chance = objective(unseen, by(RandomStreamPolicy(np.random.default_rng(0))))
    assert ours < fixed
    assert ours < chance


def test_the_oracle_is_at_least_as_good_as_the_policy_that_decides_after_it(learned):
    unseen = streams([True, False] * 3, 300)
    ours = at_price(learned.pool, learned.coefficients, PRICE)
    assert objective(unseen, oracle(ours, PRICE, SETTINGS)) <= objective(unseen, by(ours)) + 1e-3


def test_a_higher_price_means_less_is_spent(learned):
    assert (np.diff(learned.spends) <= 0).all()
    assert learned.spends[0] > 2 * learned.spends[-1]
    again = with_spends(learned.pool, learned.coefficients, [0.002, 0.2], streams([True, False]))
    assert again.spends[0] > again.spends[1]


def test_more_to_find_out_never_makes_a_look_worth_less(learned):
    assert (np.array(learned.coefficients) >= 0).all()


def test_the_fit_is_that_of_least_squares_where_no_coefficient_is_negative():
    random = np.random.default_rng(0)
    features = random.random((400, len(FEATURES)))
    true = np.array([[0.5, 0.2, 0.1, 0.3, 0.05], [0.1, 0.4, 0.2, 0.05, 0.3]])
    found = _fitted(features, features @ true.T, 1e-9)
    assert found == pytest.approx(true, abs=1e-3)
    assert (_fitted(features, -(features @ true.T), 1e-9) == 0).all()


def test_the_same_seed_gives_the_same_policy():
    made = [
        learn(streams([True]), streams([True], 9), POOL, SETTINGS, np.random.default_rng(3)) for _ in range(2)
    ]
    assert made[0] == made[1]
