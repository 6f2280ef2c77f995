"""Shrinking images by averaging areas."""

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.hierarchy import fit, working_frame
from anyscene.hierarchy.shrink_kernels import shrink_by_area

shapes = st.tuples(st.integers(1, 12), st.integers(1, 12))


@given(shapes, st.integers(1, 40), st.integers(1, 40), st.integers(0, 9))
def test_shrinking_averages_areas_as_opencv_does(shape, more_rows, more_columns, seed):
    height, width = shape[0] + more_rows, shape[1] + more_columns
    image = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    result = np.empty((shape[0], shape[1], 3), np.uint8)
    shrink_by_area(image, result)
    rows, columns = area_weights(height, shape[0]), area_weights(width, shape[1])
    expected = np.einsum("yh,xw,hwc->yxc", rows, columns, image.astype(float))
    assert np.abs(result - expected).max() <= 0.5 + 1e-3


def area_weights(pixels, cells):
    """float64[cells, pixels]: which share of a cell each pixel covers."""
    edges = np.arange(cells + 1) * (pixels / cells)
    low = np.maximum(edges[:-1, None], np.arange(pixels))
    high = np.minimum(edges[1:, None], np.arange(pixels) + 1)
    return np.clip(high - low, 0, None) * (cells / pixels)


@pytest.mark.parametrize("size", [(427, 640), (640, 427), (720, 960), (1080, 1920), (481, 481), (1, 2000)])
def test_the_working_frame_has_the_bytes_that_opencv_gives(size):
    image = np.random.default_rng(0).integers(0, 256, (*size, 3), dtype=np.uint8)
    frame = working_frame(image)
    expected = cv2.resize(image, frame.shape[1::-1], interpolation=cv2.INTER_AREA)
    # Exact halves may be rounded either way.
    assert np.abs(frame.astype(int) - expected).max() <= 1


def test_a_picture_that_is_not_contiguous_is_shrunk_as_its_copy_is():
    image = np.random.default_rng(0).integers(0, 256, (700, 900, 3), dtype=np.uint8)
    np.testing.assert_array_equal(working_frame(image[:, ::-1]), working_frame(image[:, ::-1].copy()))


@pytest.mark.parametrize("size", [(64, 64), (96, 128), (192, 256), (256, 352), (352, 480), (180, 240)])
def test_fitting_a_frame_gives_the_bytes_that_opencv_gives(size):
    image = np.random.default_rng(0).integers(0, 256, (360, 480, 3), dtype=np.uint8)
    expected = cv2.resize(image, (size[1], size[0]), interpolation=cv2.INTER_AREA)
    # Exact halves may be rounded either way.
    difference = np.abs(fit(image, size).astype(int) - expected)
    assert difference.max() <= 1
    assert (difference > 0).mean() < (0.3 if size == (180, 240) else 1e-3)
