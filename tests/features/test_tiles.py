"""Tiles: every pixel of a crop is extracted, and none of them twice."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anyscene.features.tiles import Tiles
from anyscene.features.view import Rect


@st.composite
def rects(draw, height, width):
    top, left = draw(st.integers(0, height - 1)), draw(st.integers(0, width - 1))
    return Rect(top, left, draw(st.integers(top + 1, height)), draw(st.integers(left + 1, width)))


@given(st.data())
def test_crops_are_completed_without_repeating_work(data):
    size = data.draw(st.integers(1, 500)), data.draw(st.integers(1, 500))
    tiles = Tiles(size)
    times_done = np.zeros(size, int)
    for rect in data.draw(st.lists(rects(*size), min_size=1, max_size=5)):
        for part in tiles.missing(rect):
            times_done[part.top : part.bottom, part.left : part.right] += 1
            tiles.mark(part)
        assert times_done[rect.top : rect.bottom, rect.left : rect.right].all()
        assert tiles.missing(rect) == []
    assert times_done.max() == 1


def test_a_frame_of_which_nothing_is_done_is_one_piece():
    assert Tiles((360, 480)).missing(Rect(0, 0, 360, 480)) == [(0, 0, 360, 480)]


def test_tiles_are_made_of_whole_blocks_of_a_coarse_grid():
    assert Tiles((1000, 1000), coarsest_stride=128).missing(Rect(0, 0, 1, 1)) == [(0, 0, 128, 128)]
