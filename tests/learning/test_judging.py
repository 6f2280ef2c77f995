"""How far a mean over images may be off."""

import numpy as np
import pytest

from anyscene import metrics
from anyscene.learning.judging import merit, merits_by_image, standard_error, surely_above


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


def some_confusions(images=12, classes=4, seed=0):
    """Confusion matrices of images that show some of the classes, mostly labelled right; shares of 1."""
    random = np.random.default_rng(seed)
    shown = random.random((images, classes, 1)) < 0.6
    shown[:, 0] = True
    counts = shown * (random.random((images, classes, classes)) + 3 * np.eye(classes))
    return counts / counts.sum(axis=(1, 2), keepdims=True)


def test_merit_is_the_mean_of_pixel_accuracy_and_mean_iou():
    counts = np.array([[50, 10, 0], [5, 20, 5], [0, 0, 10]], np.int64)
    expected = (metrics.pixel_accuracy(counts) + metrics.mean_iou(counts)) / 2
    assert merit(counts) == pytest.approx(expected)
    unseen = np.pad(counts, ((0, 1), (0, 1)))
    assert merit(unseen) == pytest.approx(expected)  # a class that is nowhere counts for nothing


def test_images_add_up_to_about_the_merit_of_all():
    confusions = some_confusions()
    told = merits_by_image(confusions)
    assert told.shape == (12,)
    assert told.mean() == pytest.approx(merit(confusions.sum(axis=0)), abs=0.02)
    assert merits_by_image(np.repeat(confusions, 40, axis=0)).mean() == pytest.approx(
        merit(confusions.sum(axis=0)), abs=1e-3
    )


def test_an_image_that_is_labelled_better_says_so_and_a_class_of_one_image_is_no_jump():
    confusions = some_confusions()
    better = confusions.copy()
    better[3] = np.diag(confusions[3].sum(axis=1))
    gains = merits_by_image(better) - merits_by_image(confusions)
    assert gains.argmax() == 3
    alone = np.zeros((5, 2, 2))
    alone[:, 0, 0] = 1
    alone[0] = [[0.5, 0], [0.5, 0]]  # the only image with the second class, which is never found
    told = merits_by_image(alone)
    assert 0 <= told.min() <= told.max() <= 1 + 1e-9
