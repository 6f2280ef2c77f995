"""The layout classifier behind semantics and geometry: kernels against twins, and that it learns."""

import numpy as np
import pytest

from anyscene.errors import DataError
from anyscene.features.boosting import Booster, fit_booster
from anyscene.features.layout import (
    CHANNELS,
    GRID,
    LayoutClassifier,
    draw_filters,
    fit_layout,
    gradient_means,
    layout_channels,
    layout_values,
)
from anyscene.features.layout_kernels import add_trees
from anyscene.features.training import labeled_frames
from anyscene.features.view import View


def test_filter_values_are_means_over_rectangles(street):
    random = np.random.default_rng(0)
    view = View(street)
    filters = draw_filters(30, random)
    points = random.uniform(0, 1, (12, 2)) * np.array(view.size)
    values = layout_values(view, filters, points)
    channels = layout_channels(view)
    rows, columns = channels.shape[:2]
    for point, own in zip(points, values, strict=True):
        np.testing.assert_allclose(own[:2], point / view.size, rtol=1e-5)
        y, x = (point // GRID).astype(int)
        for (channel, top, left, bottom, right), value in zip(filters, own[2:], strict=True):
            first_row, first_column = np.clip(y + top, 0, rows - 1), np.clip(x + left, 0, columns - 1)
            last_row = max(min(y + bottom, rows), first_row + 1)
            last_column = max(min(x + right, columns), first_column + 1)
            expected = channels[first_row:last_row, first_column:last_column, channel].mean()
            np.testing.assert_allclose(value, expected, atol=2e-3)


def test_trees_equal_their_numpy_twin():
    random = np.random.default_rng(0)
    values = random.random((20, 5), dtype=np.float32)
    feature = random.integers(5, size=(4, 7), dtype=np.int32)
    threshold = random.random((4, 7), dtype=np.float32)
    leaf = random.normal(size=(4, 8, 3)).astype(np.float32)
    scores = np.zeros((20, 3), np.float32)
    add_trees(values, feature, threshold, leaf, scores)
    for value, score in zip(values, scores, strict=True):
        expected = np.zeros(3)
        for tree in range(4):
            node = 0
            while node < 7:
                node = 2 * node + (2 if value[feature[tree, node]] > threshold[tree, node] else 1)
            expected += leaf[tree, node - 7]
        np.testing.assert_allclose(score, expected, rtol=1e-4, atol=1e-5)


def test_boosting_learns_what_no_single_column_tells():
    random = np.random.default_rng(0)
    values = random.uniform(-1, 1, (3000, 6)).astype(np.float32)
    labels = ((values[:, 0] > 0) ^ (values[:, 3] > 0)).astype(int) + 2 * (values[:, 5] > 0.5)
    booster = fit_booster(values[:2000], labels[:2000], np.ones(2000), 4, trees=30, depth=4, rng=random)
    probabilities = booster.probabilities(values[2000:])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    assert (probabilities.argmax(axis=1) == labels[2000:]).mean() > 0.95


def test_one_seed_gives_one_classifier(streets):
    first, second = (small_fit(streets, 3) for _ in range(2))
    assert all(np.array_equal(first[name], second[name]) for name in first)


def small_fit(streets, seed, scenes=6):
    samples = labeled_frames(streets.split("train")[:scenes])
    random = np.random.default_rng(seed)
    return fit_layout(samples, len(streets.classes), random, filters=60, trees=12, depth=4)


def test_it_learns_to_read_streets_and_forgets_idle_filters(streets):
    arrays = small_fit(streets, 0, scenes=12)
    classifier = LayoutClassifier.from_arrays(arrays)
    assert arrays["feature"].max() < 2 + len(arrays["filters"])
    right = known = majority = 0
    for scene in streets.split("val"):
        view = View(scene.image)
        labels = classifier.classify(view).argmax(axis=2).repeat(8, axis=0).repeat(8, axis=1)
        labels = labels[: scene.truth.shape[0], : scene.truth.shape[1]]
        inside = scene.truth >= 0
        right += (labels == scene.truth)[inside].sum()
        known += inside.sum()
        majority += np.bincount(scene.truth[inside]).max()
    assert right / known > majority / known + 0.1


@pytest.mark.parametrize("size", [(90, 120), (7, 5), (33, 50)])
def test_gradients_are_averaged_over_blocks(size):
    view = View(np.random.default_rng(0).integers(0, 256, (*size, 3), dtype=np.uint8))
    means = gradient_means(view)
    strength, direction = view.shared("gradient")
    assert means.shape == (-(-size[0] // 8), -(-size[1] // 8), 3)
    if min(size) >= 16:
        block, angle = strength[8:16, 8:16], np.deg2rad(2 * direction[8:16, 8:16])
        expected = [block.mean(), (block * np.cos(angle)).mean(), (block * np.sin(angle)).mean()]
        np.testing.assert_allclose(means[1, 1], expected, atol=2e-2)


def test_channels_are_finite_and_of_one_scale(street):
    channels = layout_channels(View(street))
    assert channels.shape[2] == CHANNELS
    assert np.isfinite(channels).all()
    assert channels[:, :, :-5].min() >= 0
    assert channels[:, :, :-5].max() <= 1


def test_images_without_labels_teach_nothing():
    image = np.zeros((20, 20, 3), np.uint8)
    with pytest.raises(DataError, match="no labeled pixel"):
        fit_layout([(image, np.full((20, 20), -1))], 3, np.random.default_rng(0), 10, 2, 2)


def test_a_booster_survives_as_arrays():
    random = np.random.default_rng(0)
    values = random.random((100, 3), dtype=np.float32)
    booster = fit_booster(values, random.integers(2, size=100), np.ones(100), 2, 3, 2, random)
    again = Booster.from_arrays(booster.arrays(), values.shape[1])
    np.testing.assert_array_equal(again.probabilities(values), booster.probabilities(values))
