"""When a stream begins anew: other scenes are told, moving cameras are not taken for them."""

import itertools

import numpy as np
import pytest

from anyscene.data import open as open_data
from anyscene.data.camera_paths import SPEEDS, PathFrames, camera_path
from anyscene.streams.motion import MotionFinder, sight_of
from anyscene.streams.restarts import is_other_scene, motion_within_scene


@pytest.fixture(scope="module")
def stills():
    return list(open_data("streets:8?size=240x180&seed=3").split("all"))


def test_most_other_scenes_are_told_at_a_glance_and_all_by_motion(stills):
    pairs = [(sight_of(one.image), sight_of(other.image)) for one, other in itertools.combinations(stills, 2)]
    assert np.mean([is_other_scene(*pair) for pair in pairs]) > 0.6
    finder = MotionFinder()
    assert all(motion_within_scene(finder, *pair) is None for pair in pairs)


@pytest.mark.parametrize("motion", ["pan", "zoom", "shake"])
@pytest.mark.parametrize("fine", [True, False])
def test_a_fast_camera_stays_within_its_scene(stills, motion, fine):
    finder = MotionFinder()
    path = camera_path(motion, SPEEDS["fast"], 6, np.random.default_rng(2))
    for still in stills[:3]:
        seen = [sight_of(frame.image) for frame in PathFrames(still, path, 0)]
        for pair in itertools.pairwise(seen):
            assert not is_other_scene(*pair)
            assert motion_within_scene(finder, *pair, fine=fine) is not None


def test_another_light_is_another_scene(stills):
    image = stills[0].image
    darker = sight_of((image * 0.4).astype(np.uint8))
    assert motion_within_scene(MotionFinder(), sight_of(image), darker) is None


def test_what_may_be_another_scene_is_not_followed_finely(stills):
    class Finder(MotionFinder):
        fine = None

        def find(self, before, after, fine=True):
            self.fine = fine
            return super().find(before, after, fine)

    finder, image = Finder(), stills[0].image
    same, mirrored = sight_of(np.roll(image, 8, axis=1)), sight_of(image[:, ::-1].copy())
    motion_within_scene(finder, sight_of(image), same)
    assert finder.fine
    assert not is_other_scene(sight_of(image), mirrored)  # it has the same shades
    motion_within_scene(finder, sight_of(image), mirrored)
    assert not finder.fine
