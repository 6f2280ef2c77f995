"""Motion between frames: found, composed, and doubted where the image does not match."""

import itertools

import cv2
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from anyscene.data.streets.drive import street_drive
from anyscene.streams import kernels
from anyscene.streams.motion import MotionFinder, after_another, is_still, move, no_motion, sight_of


@pytest.fixture(scope="module")
def picture():
    noise = np.random.default_rng(0).integers(0, 256, (200, 280, 3), dtype=np.uint8)
    smooth = cv2.GaussianBlur(noise, (0, 0), 5)
    return cv2.normalize(smooth, None, 0, 255, cv2.NORM_MINMAX)


def seen(picture, left, top=20):
    return sight_of(np.ascontiguousarray(picture[top : top + 120, left : left + 160]))


def test_a_pan_is_found_in_cells(picture):
    motion = MotionFinder().find(seen(picture, 40), seen(picture, 48))
    inner = (slice(5, -5), slice(5, -5))
    ways = motion.columns - no_motion((30, 40)).columns
    assert np.median(ways[inner]) == pytest.approx(2, abs=0.25)
    assert np.median(motion.rows[inner] - no_motion((30, 40)).rows[inner]) == pytest.approx(0, abs=0.25)
    assert motion.speed == pytest.approx(8 / 160, rel=0.3)


def test_what_was_outside_the_frame_before_is_not_trusted(picture):
    motion = MotionFinder().find(seen(picture, 40), seen(picture, 56))
    assert motion.match[:, -2:].mean() < 0.3 < 0.7 < motion.match[5:-5, 8:-10].mean()


def test_moved_values_arrive_where_the_image_did(picture):
    before, after = seen(picture, 40), seen(picture, 48)
    values = before.greys.astype(np.float32)
    moved = move(values, MotionFinder().find(before, after))
    assert (
        np.abs(moved - after.greys)[5:-5, 5:-8].mean() < 0.3 * np.abs(values - after.greys)[5:-5, 5:-8].mean()
    )


def test_two_motions_in_a_row_are_as_one(picture):
    finder = MotionFinder()
    views = [seen(picture, left) for left in (40, 44, 48)]
    both = after_another(finder.find(views[0], views[1]), finder.find(views[1], views[2]))
    at_once = finder.find(views[0], views[2])
    assert np.abs(both.columns - at_once.columns)[5:-5, 5:-8].mean() < 0.2


def test_noise_alone_is_still_and_a_step_to_the_side_is_not(picture):
    frame = picture[20:140, 40:200]
    noise = np.random.default_rng(1).normal(0, 3, frame.shape)
    noisy = np.clip(frame + noise, 0, 255).astype(np.uint8)
    assert is_still(sight_of(frame), sight_of(noisy))
    assert not is_still(sight_of(frame), seen(picture, 42))


def test_a_thing_that_moves_before_a_still_background_is_not_still(picture):
    frame = np.ascontiguousarray(picture[20:140, 40:200])
    other = frame.copy()
    other[50:66, 70:82] = 255 - other[50:66, 70:82]
    assert not is_still(sight_of(frame), sight_of(other))


def test_fine_flow_follows_thin_things_that_rough_flow_loses():
    """A drive past poles and trees: what stands before them moves more slowly."""
    frames = street_drive(12, 8).frames
    finder = MotionFinder()

    def moved_rightly(fine):
        right = []
        for before, after in itertools.pairwise(frames):
            motion = finder.find(sight_of(before.image), sight_of(after.image), fine)
            classes = range(1 + max(before.truth.max(), after.truth.max()))
            cells = [
                (scene.truth[2::4, 2::4, None] == classes).astype(np.float32) for scene in (before, after)
            ]
            right.append((move(cells[0], motion).argmax(axis=2) == cells[1].argmax(axis=2)).mean())
        return np.mean(right)

    assert moved_rightly(fine=True) > moved_rightly(fine=False) + 0.003


@given(st.integers(0, 10**6), st.floats(0.1, 6.0))
def test_cells_differ_where_their_smoothed_difference_says_so(seed, least):
    random = np.random.default_rng(seed)
    before = random.integers(0, 256, (int(random.integers(2, 9)), int(random.integers(2, 9))), dtype=np.uint8)
    after = np.clip(before + random.integers(-4, 5, before.shape), 0, 255).astype(np.uint8)
    unlike = cv2.blur(cv2.absdiff(before, after).astype(np.float64), (3, 3)).max()
    assume(abs(unlike - least) > 1e-6)
    assert kernels.differ(before, after, least) == (unlike > least)
