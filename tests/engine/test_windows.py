"""Panoramas are labelled in windows that overlap, where there is time; other images as a whole."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene import Labeling, Step
from anyscene.data.classes import Classes
from anyscene.engine.windows import MOST_WINDOWS, OVERLAP, WINDOW, stitch, windows_of

sides = st.integers(1, 20_000)
CLASSES = Classes(("a", "b"), np.array([[9, 9, 9], [200, 0, 0]], np.uint8))


@given(sides, sides)
def test_windows_cover_the_image_and_overlap(height, width):
    windows = windows_of((height, width))
    along = int(width > height)
    size = height, width
    assert windows[0][along].start == 0
    assert windows[-1][along].stop == size[along]
    assert len(windows) <= MOST_WINDOWS
    for window in windows:
        assert window[1 - along] == slice(0, size[1 - along])
    for before, after in pairwise(windows):
        shared = before[along].stop - after[along].start
        assert shared >= OVERLAP * (before[along].stop - before[along].start) - 2


@pytest.mark.parametrize("size", [(1080, 1920), (3000, 4000), (4000, 3000), (90, 480), (1, 1), (1000, 2400)])
def test_frames_and_photos_are_taken_whole(size):
    assert len(windows_of(size)) == 1


def test_windows_of_a_panorama_have_the_shape_of_photos():
    windows = windows_of((1000, 6000))
    assert len(windows) == 5
    assert all(columns.stop - columns.start == WINDOW * 1000 for _, columns in windows)
    assert windows_of((6000, 1000)) == [(columns, rows) for rows, columns in windows]


@given(st.integers(1, 60), st.integers(500, 900), st.booleans())
def test_windows_are_put_together_without_a_gap(short, long, upright):
    size = (long, short) if upright else (short, long)
    random = np.random.default_rng(0)
    labels, sure = random.integers(0, 2, size).astype(np.int16), random.random(size, dtype=np.float32)
    windows = windows_of(size)
    step = Step("look", 1.0, 1.0, 1)
    parts = [Labeling(labels[one], CLASSES, sure[one], trace=(step,)) for one in windows]
    whole = stitch(size, windows, parts)
    np.testing.assert_array_equal(whole.labels, labels)
    np.testing.assert_array_equal(whole.confidence, sure)
    assert [step.action for step in whole.trace][-1] == f"window {len(windows)}: look"


def test_each_half_of_an_overlap_is_its_own_windows():
    size = (100, 1000)
    windows = windows_of(size)
    parts = [Labeling(np.full((100, 480), place, np.int16), CLASSES) for place in range(len(windows))]
    found = stitch(size, windows, parts).labels[0]
    for place, (before, after) in enumerate(pairwise(windows)):
        middle = (before[1].stop + after[1].start) // 2
        assert (found[middle - 1], found[middle]) == (place, place + 1)
