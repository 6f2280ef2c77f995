"""Local binary patterns: equal to scikit-image's, code for code."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from skimage.feature import local_binary_pattern

from anyscene.features.lbp import local_binary_patterns
from anyscene.features.lbp_kernels import neighbour_bits
from anyscene.features.view import View


def theirs(grey):
    return local_binary_pattern(grey, 8, 1, method="uniform")


@given(arrays(np.uint8, array_shapes(min_dims=2, max_dims=2, max_side=12), elements=st.integers(0, 255)))
def test_codes_equal_scikit_images(grey):
    np.testing.assert_array_equal(local_binary_patterns(grey), theirs(grey))


@given(arrays(np.uint8, (9, 9), elements=st.integers(0, 2)))
def test_ties_equal_scikit_images(grey):
    np.testing.assert_array_equal(local_binary_patterns(grey), theirs(grey))


def test_codes_of_a_large_flat_image_equal_scikit_images():
    # Where all is equal, the last digit of the interpolation decides, and it depends on where the pixel lies.
    grey = np.full((700, 530), 113, np.uint8)
    np.testing.assert_array_equal(local_binary_patterns(grey), theirs(grey))


def test_codes_of_a_scene_equal_scikit_images(street):
    grey = View(street).shared("grey")
    np.testing.assert_array_equal(local_binary_patterns(grey), theirs(grey))


@pytest.mark.parametrize("share", [0.25, 0.70711])
def test_kernel_equals_its_numpy_twin(share):
    padded = np.random.default_rng(0).integers(0, 4, (8, 9), dtype=np.uint8)
    height, width = 6, 7
    bits = np.empty((height, width), np.uint8)
    low, high = np.full(height, 1 - share), np.full(height, share)
    before, after = np.full(width, 1 - share), np.full(width, share)
    neighbour_bits(padded, low, high, before, after, bits)
    image = padded.astype(float)
    center = image[1:-1, 1:-1]

    def shifted(y, x):
        """The image moved by (y, x), bilinearly."""
        result = 0
        for step_y, weight_y in ((int(np.sign(y)), abs(y)), (0, 1 - abs(y))):
            for step_x, weight_x in ((int(np.sign(x)), abs(x)), (0, 1 - abs(x))):
                window = image[1 + step_y : 1 + step_y + height, 1 + step_x : 1 + step_x + width]
                result = result + weight_y * weight_x * window
        return result

    directions = [
        (0, 1),
        (-share, share),
        (-1, 0),
        (-share, -share),
        (0, -1),
        (share, -share),
        (1, 0),
        (share, share),
    ]
    for bit, (y, x) in enumerate(directions):
        difference = shifted(y, x) - center
        clear = np.abs(difference) > 1e-9
        np.testing.assert_array_equal(((bits >> bit) & 1)[clear], (difference > 0)[clear])
