"""Beliefs are mixed among neighbours of like colour."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.hierarchy import fit
from anyscene.painting.outlines import COLOR_REACH, PLACE_REACH, follow_outlines


def mix_slowly(scores, colors):
    """The definition: a weighted mean over the cells around each cell."""
    mixed = np.zeros_like(scores)
    height, width = scores.shape[:2]
    for y in range(height):
        for x in range(width):
            total = 0.0
            for down in range(max(0, y - 1), min(height, y + 2)):
                for along in range(max(0, x - 1), min(width, x + 2)):
                    gap = float(((colors[down, along].astype(int) - colors[y, x]) ** 2).sum())
                    place = (down - y) ** 2 + (along - x) ** 2
                    weight = np.exp(-gap / (2 * COLOR_REACH**2) - place / (2 * PLACE_REACH**2))
                    total += weight
                    mixed[y, x] += weight * scores[down, along]
            mixed[y, x] /= total
    return mixed


@given(st.integers(0, 100), st.integers(1, 6), st.integers(1, 7), st.integers(1, 40))
def test_each_cell_is_a_mean_of_its_neighbours_weighted_by_their_colours(seed, height, width, contrast):
    random = np.random.default_rng(seed)
    scores = random.normal(size=(height, width, 3)).astype(np.float32)
    colors = random.integers(100, 100 + contrast, (height, width, 3), dtype=np.uint8)
    np.testing.assert_allclose(follow_outlines(scores, colors), mix_slowly(scores, colors), atol=0.02)


def test_nothing_crosses_a_strong_outline():
    frame = np.zeros((40, 60, 3), np.uint8)
    frame[:, 30:] = 255
    scores = np.zeros((8, 12, 2), np.float32)
    scores[:, :6, 0] = scores[:, 6:, 1] = 5.0
    np.testing.assert_allclose(follow_outlines(scores, fit(frame, scores.shape[:2])), scores, atol=1e-5)


def test_a_lonely_cell_gives_in_to_its_like():
    frame = np.full((12, 12, 3), 90, np.uint8)
    scores = np.zeros((6, 6, 2), np.float32)
    scores[..., 0] = 1.0
    scores[3, 3] = [0.0, 1.0]
    assert (follow_outlines(scores, fit(frame, scores.shape[:2])).argmax(axis=2) == 0).all()


@pytest.mark.parametrize("writeable", [True, False])
@pytest.mark.parametrize("size", [(1, 1), (8, 8), (480, 360)])
def test_frames_of_any_size_and_kind_are_followed(size, writeable):
    frame = np.zeros((*size, 3), np.uint8)
    frame.flags.writeable = writeable
    scores = np.ones((8, 8, 2), np.float32)
    np.testing.assert_allclose(follow_outlines(scores, fit(frame, scores.shape[:2])), scores)
