"""Clips: consecutive frames found in recordings, and camera paths over stills."""

import itertools

import numpy as np
import pytest

from anyscene.data import DataSet
from anyscene.data.camera_paths import MOTIONS, SHOWN, SPEEDS, PathFrames, camera_clips, camera_path
from anyscene.data.camvid import CLASSES
from anyscene.data.clips import recorded_clips
from anyscene.data.scenes import Scene
from anyscene.data.streets import draw_street
from anyscene.data.streets.drive import street_drive
from anyscene.errors import DataError


def recording(*ids):
    image = np.zeros((6, 8, 3), np.uint8)
    return DataSet("drive", CLASSES, {"val": ids}, lambda id: image, lambda id: None).split("val")


def test_frames_of_one_drive_at_equal_gaps_make_a_clip():
    clips = recorded_clips(recording("a_01", "a_03", "a_05", "a_35", "b_36", "b_37"))
    assert [[scene.id for scene in clip.frames] for clip in clips] == [
        ["a_01", "a_03", "a_05"],
        ["b_36", "b_37"],
    ]
    assert [clip.frames_per_second for clip in clips] == [15.0, 30.0]


def test_scenes_that_are_no_video_are_told():
    with pytest.raises(DataError, match="no two"):
        recorded_clips(recording("street", "square", "0900"))


def stills(count=3):
    random = np.random.default_rng(0)
    return [
        Scene(
            f"s{number}",
            random.integers(0, 256, (60, 80, 3), dtype=np.uint8),
            random.integers(0, 5, (60, 80)).astype(np.int16),
        )
        for number in range(count)
    ]


@pytest.mark.parametrize("motion", [motion for motion in MOTIONS if motion != "cut"])
@pytest.mark.parametrize("speed", SPEEDS)
def test_the_camera_never_leaves_the_still(motion, speed):
    for x, y, side in camera_path(motion, SPEEDS[speed], 60, np.random.default_rng(3)):
        assert side / 2 <= min(x, y) + 1e-9
        assert max(x, y) + side / 2 <= 1 + 1e-9


def test_a_pan_moves_as_fast_as_it_says():
    path = np.array(camera_path("pan", 0.01, 5, np.random.default_rng(0)))
    steps = np.linalg.norm(np.diff(path[:, :2], axis=0), axis=1)
    assert steps[0] == pytest.approx(0.01 * SHOWN)


def test_the_truth_moves_along_with_the_image():
    still = stills()[0]
    marked = Scene("m", np.repeat((still.truth * 50).astype(np.uint8)[..., None], 3, 2), still.truth)
    frame = PathFrames(marked, [(0.5 + 2 / 80, 0.5, SHOWN)], 0)[0]
    assert frame.image.shape[:2] == frame.truth.shape == (48, 64)
    assert np.abs(frame.image.mean(axis=2) - 50 * frame.truth).mean() < 8  # the sensor's noise


def test_noise_is_new_in_each_frame_and_the_same_when_asked_again():
    frames = PathFrames(stills()[0], camera_path("still", 0, 3, np.random.default_rng(0)), 7)
    assert (frames[0].image != frames[1].image).any()
    assert (frames[1].image == frames[1].image).all()
    assert (frames[0].truth == frames[1].truth).all()


def test_clips_take_turns_in_motion_and_a_cut_changes_the_scene():
    clips = camera_clips(stills(11), np.random.default_rng(0), length=6)
    assert [clip.motion for clip in clips].count("pan") == 3
    assert {clip.speed for clip in clips if clip.motion == "zoom"} == set(SPEEDS)
    cut = next(clip for clip in clips if clip.motion == "cut")
    assert len({scene.id.split("+")[0] for scene in cut.frames}) == 2
    assert all(len(clip.frames) == 6 for clip in clips)


def test_a_drive_goes_down_one_street():
    frames = street_drive(3, length=4, size=(160, 120)).frames
    image, truth = draw_street(3, (160, 120))
    assert (frames[0].image == image).all()
    assert (frames[0].truth == truth).all()
    changes = [np.mean(frames[turn].truth != truth) for turn in (1, 2, 3)]
    assert 0 < changes[0] < 0.2
    assert changes[0] < changes[2]
    assert (frames[2].image == frames[2].image).all()


def test_frames_near_each_other_on_a_drive_look_alike():
    from anyscene.streams.motion import MotionFinder, sight_of
    from anyscene.streams.restarts import motion_within_scene

    finder = MotionFinder()
    for seed in (1, 2, 5):
        seen = [sight_of(frame.image) for frame in street_drive(seed).frames]
        motions = [motion_within_scene(finder, *pair) for pair in itertools.pairwise(seen)]
        assert all(motion is not None and motion.speed > 0 for motion in motions)
