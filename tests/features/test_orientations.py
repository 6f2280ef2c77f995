"""HOG and SIFT: parity with OpenCV, and kernels against plain numpy twins."""

import cv2
import numpy as np
import pytest

from anyscene.features.hog import BINS, CELL, block_sums, hog_blocks
from anyscene.features.orientation_kernels import add_blocks, add_orientations
from anyscene.features.orientations import fold_directions
from anyscene.features.sift import dense_sift
from anyscene.features.view import View


@pytest.fixture(scope="module")
def grey(street):
    return View(cv2.resize(street, (160, 120), interpolation=cv2.INTER_CUBIC)).shared("grey")


def row_correlations(ours, theirs):
    ours, theirs = (rows - rows.mean(axis=1, keepdims=True) for rows in (ours, theirs))
    norms = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    return (ours * theirs).sum(axis=1)[norms > 0] / norms[norms > 0]


@pytest.mark.skipif(not hasattr(cv2, "HOGDescriptor"), reason="needs opencv-contrib (make bench-env)")
def test_hog_is_that_of_opencv(street):
    image = cv2.resize(street, (160, 120), interpolation=cv2.INTER_CUBIC)
    view = View(image)
    theirs = cv2.HOGDescriptor((160, 120), (16, 16), (8, 8), (8, 8), 9).compute(view.shared("grey"))
    theirs = theirs.reshape(19, 14, 36).transpose(1, 0, 2)
    ours = hog_blocks(block_sums(*view.shared("gradient")))[1:-1, 1:-1]
    assert np.corrcoef(ours.ravel(), theirs.ravel())[0, 1] > 0.95


def test_sift_is_that_of_opencv(grey):
    ours = dense_sift(grey)
    rows, columns = ours.shape[:2]
    points = [cv2.KeyPoint(8 * x + 4, 8 * y + 4, 8 / 3, 0) for y in range(rows) for x in range(columns)]
    kept, theirs = cv2.SIFT_create().compute(grey, points)
    assert len(kept) == rows * columns
    assert row_correlations(ours.reshape(-1, 128), theirs).mean() > 0.9


def test_sift_descriptors_have_unit_length_or_none(grey):
    lengths = np.linalg.norm(dense_sift(grey), axis=2)
    assert np.all((np.abs(lengths - 1) < 0.02) | (lengths < 1e-3))


def test_a_flat_image_has_no_sift():
    assert not dense_sift(np.full((40, 48), 200, np.uint8)).any()


def direction_weights(position, bins):
    """The two nearest bins of each pixel, as weights [h, w, bins]."""
    distance = np.abs((position[..., None] - np.arange(bins) + bins / 2) % bins - bins / 2)
    return np.maximum(1 - distance, 0)


def test_cells_equal_their_numpy_twin():
    random = np.random.default_rng(0)
    strength = random.random((10, 13)).astype(np.float32)
    position = random.uniform(-8, 16, strength.shape).astype(np.float32)
    cells = np.zeros((3 + 2, 4 + 2, 9), np.float32)
    add_orientations(strength, position, 4, 8, cells.reshape(5, -1))
    expected = np.zeros((5, 6, 8))
    weights = direction_weights(position, 8) * strength[..., None]
    for row in range(5):
        for column in range(6):
            near_y = np.maximum(1 - np.abs((np.arange(10) + 0.5) / 4 + 0.5 - row), 0)
            near_x = np.maximum(1 - np.abs((np.arange(13) + 0.5) / 4 + 0.5 - column), 0)
            expected[row, column] = np.einsum("y,x,yxk->k", near_y, near_x, weights)
    np.testing.assert_allclose(fold_directions(cells), expected, atol=1e-4)


def test_blocks_equal_their_numpy_twin():
    random = np.random.default_rng(1)
    strength = random.random((20, 27)).astype(np.float32)
    position = random.uniform(-1, 18, strength.shape).astype(np.float32)
    window = random.random(16).astype(np.float32)
    sums = np.zeros((2, 2, 4, 5, BINS + 1), np.float32)
    add_blocks(strength, position, BINS, window, sums.reshape(2, 2, 4, -1))
    weights = direction_weights(position, BINS) * strength[..., None]
    sides = (window, window[::-1])

    def along(length, block, side):
        place = np.arange(length) - (block - 1) * CELL
        inside = (place >= 0) & (place < 16)
        return np.where(inside, sides[side][np.clip(place, 0, 15)], 0)

    expected = np.zeros((2, 2, 4, 5, BINS))
    for side_y, side_x, row, column in np.ndindex(expected.shape[:4]):
        near_y, near_x = along(20, row, side_y), along(27, column, side_x)
        expected[side_y, side_x, row, column] = np.einsum("y,x,yxk->k", near_y, near_x, weights)
    np.testing.assert_allclose(fold_directions(sums), expected, atol=1e-3)
