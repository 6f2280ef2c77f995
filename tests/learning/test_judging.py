"""How far a mean over images may be off."""

import numpy as np
import pytest

from anyscene.learning.judging import standard_error, surely_above


def spread_of_means(draw, count, random):
    return np.std([draw(count, random).mean() for _ in range(3000)])


def unrelated(count, random):
    return random.normal(size=count)


def drives(count, random):
    """Eight images in a row are of one place."""
    return random.normal(size=count // 8).repeat(8) + 0.1 * random.normal(size=count)


@pytest.mark.parametrize("draw", [unrelated, drives])
def test_the_standard_error_is_how_far_means_spread(draw):
    random = np.random.default_rng(0)
    told = np.mean([standard_error(draw(160, random)) for _ in range(300)])
    assert told == pytest.approx(spread_of_means(draw, 160, random), rel=0.25)


def test_neighbours_that_are_alike_are_hardly_two_judges():
    random = np.random.default_rng(0)
    values = random.normal(size=20)
    assert standard_error(values.repeat(4)) > 1.6 * standard_error(np.tile(values, 4))


@pytest.mark.parametrize("values", [[0.3], [0.3, 0.3], [0.1] * 50])
def test_what_is_the_same_everywhere_is_certain(values):
    assert standard_error(np.array(values)) == pytest.approx(0.0, abs=1e-9)


def test_what_is_surely_above_nothing_is_so_by_more_than_chance():
    random = np.random.default_rng(0)
    noise = random.normal(0, 0.1, 40)
    assert surely_above(np.full(40, 0.01))
    assert not surely_above(np.full(40, 0.01), least=0.02)
    assert not surely_above(np.zeros(40))
    assert not surely_above(0.01 + noise - noise.mean())
