"""Labels of a large photo follow its own outlines, not the steps of the frame that it was looked at in."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from anyscene.hierarchy import working_frame
from anyscene.painting.enlarging import COLOR_REACH, NEGLIGIBLE, PLACE_REACH, enlarge, find_mixed
from anyscene.painting.leaves import repeated


def slope(height=900, width=1200):
    """A bright wedge before dark ground, its labels, and those of the frame's pixels."""
    y, x = np.mgrid[:height, :width]
    truth = (3 * x + 5 * y < 4 * width).astype(np.int16)
    image = np.where(truth[..., None] == 1, 210, 40).astype(np.uint8).repeat(3, axis=2)
    frame = working_frame(image)
    return truth, image, frame, (frame[:, :, 0] > 125).astype(np.int16)


def test_an_outline_that_is_seen_is_followed_to_the_pixel():
    truth, image, frame, labels = slope()
    stairs = repeated(labels, truth.shape)
    smooth = enlarge(labels, find_mixed(labels), frame, image)
    assert np.count_nonzero(stairs != truth) > 500
    assert np.count_nonzero(smooth != truth) < 0.02 * np.count_nonzero(stairs != truth)


def test_far_from_outlines_pixels_are_like_their_frames():
    truth, image, frame, labels = slope()
    labels[20:30, 40:60] = 7  # whatever it looks like
    large = enlarge(labels, find_mixed(labels), frame, image)
    inside = repeated((~find_mixed(labels)).astype(np.int16), truth.shape) == 1
    np.testing.assert_array_equal(large[inside], repeated(labels, truth.shape)[inside])


@given(arrays(np.int16, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.integers(-1, 3)))
def test_what_is_mixed_has_another_label_beside_it(labels):
    around = np.pad(labels, 1, mode="edge")
    height, width = labels.shape
    beside = [around[i : i + height, j : j + width] != labels for i in range(3) for j in range(3)]
    np.testing.assert_array_equal(find_mixed(labels), np.any(beside, axis=0))


def voted(labels, frame, image):
    """The same in plain numpy."""
    (height, width), (h, w) = image.shape[:2], labels.shape
    out = np.empty((height, width), np.int16)
    for y, x in np.ndindex(height, width):
        down, across = (y + 0.5) * h / height, (x + 0.5) * w / width
        votes = {}
        for i in range(max(int(down) - 1, 0), min(int(down) + 2, h)):
            for j in range(max(int(across) - 1, 0), min(int(across) + 2, w)):
                far = (i + 0.5 - down) ** 2 + (j + 0.5 - across) ** 2
                unlike = ((image[y, x].astype(float) - frame[i, j]) ** 2).sum()
                alike = max(np.exp(-unlike / (2 * COLOR_REACH**2)), NEGLIGIBLE)
                weight = np.exp(-far / (2 * PLACE_REACH**2)) * alike
                votes[labels[i, j]] = votes.get(labels[i, j], 0.0) + weight
        out[y, x] = max(votes, key=votes.get)
    return out


@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(1, 7), st.integers(1, 4), st.integers(0, 3))
def test_the_kernel_votes_like_plain_numpy(seed, rows, columns, larger, more):
    random = np.random.default_rng(seed)
    labels = random.integers(-1, 3, (rows, columns)).astype(np.int16)
    frame = random.integers(0, 256, (rows, columns, 3), dtype=np.uint8)
    image = random.integers(0, 256, (larger * rows + more, larger * columns, 3), dtype=np.uint8)
    found = enlarge(labels, find_mixed(labels), frame, image)
    assert np.mean(found == voted(labels, frame, image)) > 0.99  # all but ties
