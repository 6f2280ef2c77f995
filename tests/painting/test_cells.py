"""Labels of pixels by the scores of the cells around them, against slow twins."""

import cv2
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anyscene.painting.cells import SHADE_REACH, labels_by_cells, labels_by_scores, labels_by_shades

shapes = st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 5))


def random_scores(shape, seed):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def random_shades(size, seed):
    return np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8)


def mixed_slowly(scores, shades, cell_shades):
    """Scores of each pixel, mixed from the four cells around it by place and by likeness of shade."""
    (height, width), (rows, columns) = shades.shape, cell_shades.shape
    mixed = np.zeros((height, width, scores.shape[2]))
    for y, x in np.ndindex(height, width):
        at_y = np.clip((y + 0.5) * rows / height - 0.5, 0, rows - 1)
        at_x = np.clip((x + 0.5) * columns / width - 0.5, 0, columns - 1)
        total = 0.0
        for row, column in np.ndindex(rows, columns):
            near = max(0.0, 1 - abs(row - at_y)) * max(0.0, 1 - abs(column - at_x))
            gap = (float(shades[y, x]) - float(cell_shades[row, column])) / SHADE_REACH
            weight = near / (1 + gap**2)
            mixed[y, x] += weight * scores[row, column]
            total += weight
        mixed[y, x] /= total
    return mixed


def assert_best(labels, scores):
    chosen = np.take_along_axis(scores, labels[:, :, None].astype(int), axis=2)[:, :, 0]
    np.testing.assert_allclose(chosen, scores.max(axis=2), atol=1e-5)


@given(shapes, st.integers(1, 20), st.integers(1, 20), st.integers(0, 9))
def test_labels_by_scores_are_the_best_of_bilinearly_enlarged_scores(shape, height, width, seed):
    scores = random_scores(shape, seed)
    same_shade = np.zeros((height, width), np.uint8), np.zeros(shape[:2], np.uint8)
    labels = labels_by_scores(scores, shape[2], (height, width))
    assert_best(labels, mixed_slowly(scores, *same_shade))


@given(shapes, st.integers(1, 20), st.integers(1, 20), st.integers(0, 9))
def test_labels_by_shades_are_the_best_of_scores_mixed_by_place_and_shade(shape, height, width, seed):
    scores = random_scores(shape, seed)
    shades, cell_shades = random_shades((height, width), seed), random_shades(shape[:2], seed + 1)
    assert_best(
        labels_by_shades(scores, shape[2], shades, cell_shades), mixed_slowly(scores, shades, cell_shades)
    )


def test_an_outline_within_a_cell_is_found_by_its_shade():
    scores = np.array([[[1, 0], [0, 1]]], np.float32)  # a dark thing on the left, a light one on the right
    shades = np.where(np.arange(16) < 5, 20, 220).astype(np.uint8)[None].repeat(4, axis=0)
    labels = labels_by_shades(scores, 2, shades, np.array([[20, 220]], np.uint8))
    assert (labels == (shades == 220)).all()
    assert not (labels_by_scores(scores, 2, shades.shape) == (shades == 220)).all()


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
