import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.features.hypercolumn.labels import labels_by_cells, labels_by_scores, make_chances
from anyscene.hierarchy import fit

shapes = st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 5))


def random_scores(shape, seed):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@given(shapes, st.integers(1, 40), st.integers(1, 40), st.integers(0, 9))
def test_labels_by_scores_are_the_best_of_bilinearly_enlarged_scores(shape, height, width, seed):
    scores = random_scores(shape, seed)
    position_y = np.clip((np.arange(height) + 0.5) * shape[0] / height - 0.5, 0, shape[0] - 1)
    position_x = np.clip((np.arange(width) + 0.5) * shape[1] / width - 0.5, 0, shape[1] - 1)
    y, x = position_y.astype(int), position_x.astype(int)
    down, across = (position_y - y)[:, None, None], (position_x - x)[None, :, None]
    below, right = np.minimum(y + 1, shape[0] - 1), np.minimum(x + 1, shape[1] - 1)
    upper = scores[y][:, x] * (1 - across) + scores[y][:, right] * across
    lower = scores[below][:, x] * (1 - across) + scores[below][:, right] * across
    enlarged = upper * (1 - down) + lower * down
    labels = labels_by_scores(scores, shape[2], (height, width))
    best = enlarged.max(axis=2)
    chosen = np.take_along_axis(enlarged, labels[:, :, None].astype(int), axis=2)[:, :, 0]
    np.testing.assert_allclose(chosen, best, atol=1e-5)


def test_enlarging_agrees_with_opencv_on_a_large_map():
    scores = random_scores((30, 40, 11), 0)
    enlarged = cv2.resize(scores, (160, 120), interpolation=cv2.INTER_LINEAR)
    assert (labels_by_scores(scores, 11, (120, 160)) == enlarged.argmax(axis=2)).mean() > 0.9999


@given(shapes, st.integers(0, 9))
def test_labels_by_cells_repeat_each_cells_best_class(shape, seed):
    scores = random_scores(shape, seed)
    labels = labels_by_cells(scores, shape[2], (shape[0] * 3, shape[1] * 2))
    assert (labels == scores.argmax(axis=2).repeat(3, axis=0).repeat(2, axis=1)).all()


def test_columns_beyond_the_classes_are_never_a_label():
    scores = np.zeros((2, 2, 3), np.float32)
    scores[..., 2] = 9
    assert labels_by_scores(scores, 2, (4, 4)).max() < 2
    assert labels_by_cells(scores, 2, (4, 4)).max() < 2


@given(st.integers(1, 20), st.integers(1, 6), st.integers(0, 3), st.integers(0, 9))
def test_class_scores_become_probabilities_and_the_rest_is_left(rows, classes, extra, seed):
    values = random_scores((rows, classes + extra), seed) * 30
    expected = np.exp(values[:, :classes] - values[:, :classes].max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    result = values.copy()
    make_chances(result[None], classes)
    np.testing.assert_allclose(result[:, :classes], expected, atol=1e-6)
    assert (result[:, classes:] == values[:, classes:]).all()


@pytest.mark.parametrize("size", [(64, 64), (96, 128), (192, 256), (256, 352), (352, 480), (180, 240)])
def test_fitting_a_frame_gives_the_bytes_that_opencv_gives(size):
    image = np.random.default_rng(0).integers(0, 256, (360, 480, 3), dtype=np.uint8)
    expected = cv2.resize(image, (size[1], size[0]), interpolation=cv2.INTER_AREA)
    # Exact halves may be rounded either way.
    difference = np.abs(fit(image, size).astype(int) - expected)
    assert difference.max() <= 1
    assert (difference > 0).mean() < (0.3 if size == (180, 240) else 1e-3)
