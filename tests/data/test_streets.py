"""Generated scenes: the same street for the same seed, at any size, with every class."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anyscene.data
from anyscene.data import VOID
from anyscene.data.camvid import CLASSES
from anyscene.data.streets import draw_street, open_streets
from anyscene.errors import DataError


@pytest.fixture(scope="module")
def thirty_truths():
    return np.stack([draw_street(seed, (240, 180))[1] for seed in range(500, 530)])


def test_a_scene_is_an_rgb_image_with_its_truth():
    image, truth = draw_street(3, (160, 120))
    assert image.shape == (120, 160, 3)
    assert image.dtype == np.uint8
    assert truth.shape == (120, 160)
    assert truth.dtype == np.int16


def test_same_seed_gives_the_same_scene_whatever_was_drawn_before():
    image, truth = draw_street(11)
    draw_street(12, (33, 44))
    again_image, again_truth = draw_street(11)
    np.testing.assert_array_equal(image, again_image)
    np.testing.assert_array_equal(truth, again_truth)


def test_different_seeds_give_different_streets():
    truths = [draw_street(seed, (120, 90))[1] for seed in range(12)]
    for place, truth in enumerate(truths):
        assert all(np.mean(truth != other) > 0.02 for other in truths[place + 1 :])


@pytest.mark.parametrize("seed", range(6))
def test_every_size_shows_the_same_street(seed):
    image, truth = draw_street(seed, (480, 360))
    small_image, small_truth = draw_street(seed, (240, 180))
    shrunk = cv2.resize(image, (240, 180), interpolation=cv2.INTER_AREA)
    assert np.mean(truth[::2, ::2] == small_truth) > 0.95
    assert np.mean(np.abs(shrunk.astype(int) - small_image)) < 12


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**40), width=st.integers(1, 90), height=st.integers(1, 90))
def test_any_size_works_and_holds_only_known_labels(seed, width, height):
    image, truth = draw_street(seed, (width, height))
    assert image.shape == (height, width, 3)
    assert truth.shape == (height, width)
    assert truth.min() >= VOID
    assert truth.max() < len(CLASSES)


def test_large_frames_work():
    image, truth = draw_street(5, (1920, 1080))
    assert image.shape == (1080, 1920, 3)
    assert truth.shape == (1080, 1920)


def test_thirty_scenes_hold_every_class(thirty_truths):
    assert set(np.unique(thirty_truths)) == {VOID, *range(len(CLASSES))}


def test_class_shares_are_like_those_of_camvid(thirty_truths):
    labelled = thirty_truths[thirty_truths != VOID]
    share = dict(zip(CLASSES.names, np.bincount(labelled, minlength=11) / labelled.size, strict=True))
    assert 0.7 < share["sky"] + share["building"] + share["road"] + share["tree"] < 0.92
    assert all(share[name] > 0.04 for name in ("sky", "building", "road", "tree"))
    assert all(share[name] < 0.03 for name in ("pole", "sign", "fence", "pedestrian", "bicyclist"))
    assert 0 < np.mean(thirty_truths == VOID) < 0.05


def test_sky_is_above_road(thirty_truths):
    rows = np.broadcast_to(np.arange(180)[:, None], thirty_truths.shape)
    sky, road = CLASSES.names.index("sky"), CLASSES.names.index("road")
    assert rows[thirty_truths == sky].mean() < 70
    assert rows[thirty_truths == road].mean() > 110


def test_splits_are_disjoint_and_halves_make_up_train():
    streets = open_streets("50", size="8x6")
    ids = {split: set(streets.split(split).ids) for split in streets.splits}
    assert ids["train"] | ids["val"] | ids["test"] == ids["all"]
    assert [len(ids[split]) for split in ("train", "val", "test", "a", "b")] == [30, 10, 10, 15, 15]
    assert ids["a"] | ids["b"] == ids["train"]
    for one, other in (("a", "b"), ("train", "val"), ("train", "test"), ("val", "test")):
        assert ids[one].isdisjoint(ids[other])


def test_a_longer_data_set_keeps_every_scene_in_its_split():
    short, long = open_streets("20"), open_streets("40")
    for split in short.splits:
        assert set(short.split(split).ids) <= set(long.split(split).ids)


def test_settings_choose_size_seed_and_number():
    streets = anyscene.data.open("streets:7?size=24x18&seed=7")
    other = anyscene.data.open("streets:7?size=24x18&seed=8")
    scene = streets.split("all")[6]
    assert len(streets.split("all")) == 7
    assert scene.image.shape == (18, 24, 3)
    assert not set(streets.split("all").ids) & set(other.split("all").ids)
    np.testing.assert_array_equal(scene.image, draw_street(int(scene.id), (24, 18))[0])
    np.testing.assert_array_equal(scene.truth, draw_street(int(scene.id), (24, 18))[1])


def test_the_default_is_a_hundred_scenes_of_480x360():
    streets = anyscene.data.open("streets:")
    assert len(streets.split("all")) == 100
    assert streets.classes == CLASSES
    assert streets.split("train").image(0).shape == (360, 480, 3)


def test_writing_into_a_scene_does_not_change_the_next_reading():
    scenes = open_streets("1", size="16x12").split("all")
    first = scenes[0]
    first.image[:] = 0
    first.truth[:] = 0
    assert scenes[0].image.any()
    assert scenes[0].truth.any()


@pytest.mark.parametrize(
    ("rest", "sentence"),
    [
        ("many", "COUNT is 'many', not a whole number from 1 to 1000000; write streets:COUNT"),
        ("0", "COUNT is '0', not a whole number"),
        ("-3", "COUNT is '-3', not a whole number"),
        ("5?size=0x4", "size=0x4 is not a size; write WIDTHxHEIGHT"),
        ("5?size=big", "size=big is not a size; write WIDTHxHEIGHT"),
        ("5?seed=-1", "seed is '-1', not a whole number from 0"),
        ("5?colour=red", r"streets has no setting 'colour' \(settings: size, seed\)"),
    ],
)
def test_bad_settings_are_named(rest, sentence):
    with pytest.raises(DataError, match=sentence):
        anyscene.data.open(f"streets:{rest}")
