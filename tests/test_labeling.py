import copy
import json
import pickle
from dataclasses import replace

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from anyscene.data.classes import Classes
from anyscene.errors import ConfigError, DataError
from anyscene.labeling import VOID_ID, Labeling, Step

CLASSES = Classes(("sky", "road", "tree"), np.array([[9, 99, 199], [128, 64, 128], [0, 255, 0]], np.uint8))


def labeling(labels, classes=CLASSES, **more):
    labels = np.asarray(labels, np.int16)
    return Labeling(labels, classes, np.full(labels.shape, 0.5, np.float32), **more)


def test_color_draws_each_class_in_its_colour_and_void_black():
    assert labeling([[0, 1, -1]]).color().tolist() == [[[9, 99, 199], [128, 64, 128], [0, 0, 0]]]


def test_a_labeling_is_plain_data():
    one = labeling([[0, 1]], cost=2.0, trace=(Step("split", 1.0, 2.0, 3, 0.5),), deadline_met=True)
    for same in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        assert same == one
        assert same is not one
    for other in (replace(one, cost=3.0), replace(one, confidence=None), labeling([[0, 2]], cost=2.0)):
        assert other != one
    assert one != "labels"


def test_a_labeling_is_told_in_one_short_line():
    assert repr(labeling([[0, 1, 1]], cost=2.04)) == "<Labeling 3x1, 3 classes, 0 steps, 2.0 ms>"
    assert ", 1 step, " in repr(labeling([[0]], trace=(Step("split", 1.0, 2.0, 3),)))
    assert "late" in repr(labeling([[0]], deadline_met=False))
    assert "prior" in repr(labeling([[0]], is_prior=True))


def test_confidence_that_nobody_asked_for_is_not_there():
    one = Labeling(np.zeros((2, 3), np.int16), CLASSES)
    assert one.confidence is None
    assert one.mean_confidence is None
    with pytest.raises(ConfigError, match="confidence=True"):
        one.require_confidence()


def test_overlay_blends_the_colours_and_leaves_void_as_the_image_is():
    image = np.full((1, 2, 3), 100, np.uint8)
    assert labeling([[1, -1]]).overlay(image).tolist() == [[[114, 82, 114], [100, 100, 100]]]


@given(arrays.arrays(np.int16, (3, 5), elements=st.integers(-1, 2)))
def test_overlay_runs_from_the_image_to_the_colours(labels):
    image = np.arange(45, dtype=np.uint8).reshape(3, 5, 3)
    one = labeling(labels)
    np.testing.assert_array_equal(one.overlay(image, 0), image)
    full = one.overlay(image, 1)
    np.testing.assert_array_equal(full[labels >= 0], one.color()[labels >= 0])
    np.testing.assert_array_equal(full[labels < 0], image[labels < 0])


def test_overlay_refuses_another_image_and_an_opacity_that_is_none():
    with pytest.raises(DataError, match=r"uint8\[1, 2, 3\]"):
        labeling([[0, 1]]).overlay(np.zeros((2, 2, 3), np.uint8))
    with pytest.raises(ConfigError, match="between 0 and 1, found 50"):
        labeling([[0]]).overlay(np.zeros((1, 1, 3), np.uint8), 50)


@given(arrays.arrays(np.int16, arrays.array_shapes(min_dims=2, max_dims=2), elements=st.integers(-1, 2)))
def test_a_saved_labeling_reads_back_as_ids_and_shows_as_colours(tmp_path_factory, labels):
    path = tmp_path_factory.mktemp("saved") / "labels.png"
    one = labeling(labels)
    one.save(path)
    with Image.open(path) as picture:
        assert picture.mode == "P"
        ids = np.asarray(picture)
        colors = np.asarray(picture.convert("RGB"))
    np.testing.assert_array_equal(ids, np.where(labels < 0, VOID_ID, labels))
    np.testing.assert_array_equal(colors, one.color())
    np.testing.assert_array_equal(cv2.imread(str(path))[..., ::-1], one.color())


def test_255_classes_can_be_saved_and_256_cannot(tmp_path):
    def many(n):
        return Classes(tuple(map(str, range(n))), np.zeros((n, 3), np.uint8))

    labeling([[254, -1]], many(255)).save(tmp_path / "most.png")
    with Image.open(tmp_path / "most.png") as picture:
        assert np.asarray(picture).tolist() == [[254, VOID_ID]]
    with pytest.raises(DataError, match="at most 255 classes, found 256"):
        labeling([[0]], many(256)).save(tmp_path / "too-many.png")


@pytest.mark.parametrize("name", ["labels.jpg", "labels"])
def test_labels_are_saved_as_png_only(tmp_path, name):
    with pytest.raises(ConfigError, match=r"name a \.png file"):
        labeling([[0]]).save(tmp_path / name)
    assert not (tmp_path / name).exists()


def test_json_tells_shares_cost_and_trace():
    step = Step("split 0.3", predicted_ms=1.0, actual_ms=1.5, leaves=12, mean_entropy=0.7)
    told = json.loads(labeling([[0, 0, 1, -1]], cost=3.5, trace=(step,), deadline_met=True).to_json())
    assert told == {
        "width": 4,
        "height": 1,
        "shares": {"sky": 0.5, "road": 0.25, "tree": 0.0},
        "void_share": 0.25,
        "mean_confidence": 0.5,
        "cost_ms": 3.5,
        "deadline_met": True,
        "is_prior": False,
        "familiarity": None,
        "trace": [
            {"action": "split 0.3", "predicted_ms": 1.0, "actual_ms": 1.5, "leaves": 12, "mean_entropy": 0.7}
        ],
    }


def test_maps_of_the_wrong_type_or_size_are_refused():
    good = np.zeros((2, 3), np.int16)
    with pytest.raises(DataError, match=r"int16\[H, W\], found int64\[2, 3\]"):
        Labeling(good.astype(np.int64), CLASSES)
    with pytest.raises(DataError, match=r"found float32\[3, 2\]"):
        Labeling(good, CLASSES, np.zeros((3, 2), np.float32))


def test_a_labeling_cannot_be_changed():
    with pytest.raises(AttributeError):
        labeling([[0]]).cost = 1.0
