"""Motion is found as well as there is time for: finely, roughly, or not at all."""

import itertools

import cv2
import numpy as np
import pytest

from anyscene.streams.following import Follower
from anyscene.streams.motion import MotionFinder, no_motion, sight_of

NO_TIME, TIME = 0.0, 1000.0
STEP = 4
"""Pixels that the camera turns from frame to frame."""


@pytest.fixture(scope="module")
def views():
    """A camera that turns at an even speed."""
    noise = np.random.default_rng(0).integers(0, 256, (120, 280, 3), dtype=np.uint8)
    smooth = cv2.GaussianBlur(noise, (0, 0), 9)
    picture = cv2.normalize(smooth, None, 0, 255, cv2.NORM_MINMAX)
    lefts = range(40, 40 + 6 * STEP, STEP)
    return [sight_of(np.ascontiguousarray(picture[:, left : left + 160])) for left in lefts]


@pytest.fixture
def found(monkeypatch):
    """How often motion was looked for."""
    calls = []
    find = MotionFinder.find

    def counted(self, before, after, fine=True):
        calls.append(fine)
        return find(self, before, after, fine)

    monkeypatch.setattr(MotionFinder, "find", counted)
    return calls


def way(motion):
    """By how many cells the middle of the picture moved to the left."""
    still = no_motion(motion.match.shape)
    return float(np.median((motion.columns - still.columns)[5:-5, 5:-5]))


def test_with_time_motion_is_found_finely_in_every_frame(views, found):
    follower = Follower()
    for before, after in itertools.pairwise(views):
        assert way(follower.motion(before, after, TIME)) == pytest.approx(STEP / 4, abs=0.2)
    assert found == [True] * (len(views) - 1)
    assert follower.left_to_measure() is None


def test_without_time_all_goes_on_as_it_moved_before(views, found):
    follower = Follower()
    follower.motion(views[0], views[1], TIME)
    motions = [follower.motion(views[i], views[i + 1], NO_TIME) for i in (1, 2, 3)]
    assert len(found) == 1
    assert [way(motion) for motion in motions] == pytest.approx([STEP / 4] * 3, abs=0.2)


def test_what_was_guessed_is_measured_between_calls_and_the_next_guess_is_better(views, found):
    follower = Follower()
    first = follower.motion(views[0], views[1], NO_TIME)
    assert way(first) == 0  # nothing is known of how it moves
    assert not found
    follower.left_to_measure()()
    assert follower.left_to_measure() is None
    second = follower.motion(views[1], views[2], NO_TIME)
    assert way(second) == pytest.approx(STEP / 4, abs=0.2)
    assert second.match.mean() > first.match.mean()
    assert len(found) == 1


def test_a_guess_that_does_not_match_is_replaced_by_what_is_found(views, found):
    turned = [sight_of(cv2.resize(view.colors, None, fx=4, fy=4)) for view in (views[0], views[5])]
    follower = Follower()
    motion = follower.motion(*turned, NO_TIME)  # five steps at once are no standing still
    assert found
    assert motion is None or way(motion) > 2


def test_frames_of_another_size_are_not_guessed_from_earlier_ones(views):
    follower = Follower()
    follower.motion(views[0], views[1], TIME)
    small = [
        sight_of(np.ascontiguousarray(np.repeat(np.repeat(view.colors, 3, 0), 3, 1))) for view in views[:2]
    ]
    assert follower.motion(*small, NO_TIME).match.shape == small[0].grid
