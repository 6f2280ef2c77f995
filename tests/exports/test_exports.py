"""Exports: what other tools read is what was labelled; with these tools where they are installed."""

import json
import sys
from types import ModuleType, SimpleNamespace

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from anyscene import Labeling
from anyscene.data import runs
from anyscene.data.classes import Classes
from anyscene.errors import ConfigError, DataError
from anyscene.exports import coco
from anyscene.exports.cityscapes import LABEL_IDS
from anyscene.exports.other_tools import fiftyone_targets

NAMES = ("road", "tree", "pedestrian", "dragon")
CLASSES = Classes(NAMES, np.array([[9, 9, 9], [0, 99, 0], [99, 0, 0], [0, 0, 99]], np.uint8))
masks = arrays(bool, array_shapes(min_dims=2, max_dims=2, max_side=40))


@pytest.fixture
def labeling():
    """Three classes and some void; a tree with a hole, and a pedestrian of two parts."""
    labels = np.zeros((60, 80), np.int16)
    labels[5:40, 10:50] = 1
    labels[15:25, 20:30] = 0
    labels[45:55, 5:15] = labels[45:55, 60:75] = 2
    labels[58:] = -1
    confidence = np.full(labels.shape, 0.5, np.float32)
    confidence[labels == 1] = 0.75
    return Labeling(labels, CLASSES, confidence)


@given(masks)
def test_run_lengths_come_back_as_the_mask(mask):
    np.testing.assert_array_equal(runs.decode(runs.encode(mask)), mask)


@given(st.lists(st.integers(0, 10**6), max_size=20))
def test_packed_counts_come_back(counts):
    assert runs.unpack_counts(runs.pack_counts(counts)) == counts


def test_a_damaged_code_is_told():
    with pytest.raises(DataError, match="damaged"):
        runs.decode({"size": [2, 2], "counts": [1, 9]})


@given(masks)
def test_run_lengths_are_those_of_pycocotools(mask):
    other = pytest.importorskip("pycocotools.mask")
    theirs = other.encode(np.asfortranarray(mask.astype(np.uint8)))
    assert runs.encode(mask)["counts"] == theirs["counts"].decode()
    np.testing.assert_array_equal(other.decode(runs.encode(mask)), mask)


def test_masks_are_of_the_classes_that_are_seen_and_cover_all_but_void(labeling):
    found = labeling.masks()
    assert list(found) == ["road", "tree", "pedestrian"]
    np.testing.assert_array_equal(sum(mask.astype(int) for mask in found.values()), labeling.labels >= 0)


def fill(parts, shape):
    """Draw polygons, sixteen times as large, and look at the pixels' centres."""
    canvas = np.zeros((16 * shape[0], 16 * shape[1]), np.uint8)
    for part in parts:
        cv2.fillPoly(canvas, [np.round(16 * ring).astype(np.int32) for ring in part], 1)
    return canvas[8::16, 8::16] == 1


def test_polygons_have_parts_and_holes_and_cover_their_masks(labeling):
    found = labeling.polygons()
    assert [len(part) for part in found["tree"]] == [2]
    assert len(found["pedestrian"]) == 2
    np.testing.assert_array_equal(found["pedestrian"][1][0].min(axis=0), [5, 45])
    np.testing.assert_array_equal(found["pedestrian"][1][0].max(axis=0), [15, 55])
    for name, mask in labeling.masks().items():
        drawn = fill(found[name], mask.shape)
        assert (drawn & mask).sum() / (drawn | mask).sum() > 0.98


@given(arrays(bool, (12, 15)))
def test_polygons_without_tolerance_lose_hardly_anything(mask):
    labels = mask.astype(np.int16)
    for name, own in Labeling(labels, CLASSES).masks().items():
        drawn = fill(Labeling(labels, CLASSES).polygons(0)[name], own.shape)
        assert (drawn != own).mean() < 0.2
        assert drawn[own].mean() > 0.8


def test_a_coco_document_is_read_back(labeling, tmp_path):
    document = json.loads(json.dumps(labeling.to_coco("a/photo.jpg")))
    assert document["images"] == [{"id": 1, "file_name": "a/photo.jpg", "width": 80, "height": 60}]
    assert [one["id"] for one in document["categories"]] == [1, 2, 3, 4]
    for mark in document["annotations"]:
        mask = labeling.labels == mark["category_id"] - 1
        np.testing.assert_array_equal(runs.decode(mark["segmentation"]), mask)
        assert mark["area"] == mask.sum()
    assert document["annotations"][1]["bbox"] == [10, 5, 40, 35]


def test_pycocotools_opens_the_document(labeling, tmp_path):
    opened = pytest.importorskip("pycocotools.coco").COCO
    path = tmp_path / "coco.json"
    path.write_text(json.dumps(labeling.to_coco("photo.jpg")))
    read = opened(str(path))
    for mark in read.loadAnns(read.getAnnIds()):
        np.testing.assert_array_equal(read.annToMask(mark), labeling.labels == mark["category_id"] - 1)


def test_the_panoptic_form_says_the_same(labeling):
    document, pictures = coco.panoptic_document([coco.LabeledFile("a/photo.jpg", labeling.labels)], CLASSES)
    ((name, picture),) = pictures
    assert name == document["annotations"][0]["file_name"] == "a/photo.png"
    ids = picture.astype(int) @ [1, 256, 65536]
    np.testing.assert_array_equal(ids, labeling.labels + 1)
    for info in document["annotations"][0]["segments_info"]:
        assert info["area"] == (ids == info["id"]).sum()


def test_cityscapes_has_ids_for_classes_of_the_same_meaning(labeling):
    ids = labeling.to_cityscapes()
    assert ids[0, 0] == LABEL_IDS["road"] == 7
    assert ids[6, 11] == LABEL_IDS["vegetation"] == 21
    assert ids[50, 10] == LABEL_IDS["person"] == 24
    assert ids[59, 0] == 0
    dragon = Labeling(np.full((1, 1), 3, np.int16), CLASSES)
    assert dragon.to_cityscapes()[0, 0] == 0


def test_supervision_gets_a_row_for_each_class(labeling):
    pytest.importorskip("supervision")
    rows = labeling.to_supervision()
    assert rows.class_id.tolist() == [0, 1, 2]
    assert rows.data["class_name"].tolist() == ["road", "tree", "pedestrian"]
    assert rows.confidence.tolist() == [0.5, 0.75, 0.5]
    assert rows.xyxy[1].tolist() == [10, 5, 50, 40]
    np.testing.assert_array_equal(rows.mask[2], labeling.labels == 2)
    assert rows.area[2] == (labeling.labels == 2).sum()
    assert len(Labeling(np.full((4, 4), -1, np.int16), CLASSES).to_supervision()) == 0


def test_fiftyone_gets_a_segmentation(labeling):
    pytest.importorskip("fiftyone")
    mask = labeling.to_fiftyone().mask
    assert fiftyone_targets(CLASSES)[int(mask[6, 11])] == "tree"
    assert mask[59, 0] == 0


def test_fiftyone_would_get_a_value_above_0_for_each_class(labeling, monkeypatch):
    """FiftyOne brings a data base along and is seldom installed: a stand-in takes what it would get."""
    other = ModuleType("fiftyone")
    other.Segmentation = SimpleNamespace
    monkeypatch.setitem(sys.modules, "fiftyone", other)
    mask = labeling.to_fiftyone().mask
    assert mask.dtype == np.uint8
    np.testing.assert_array_equal(mask, labeling.labels + 1)
    assert fiftyone_targets(CLASSES) == {1: "road", 2: "tree", 3: "pedestrian", 4: "dragon"}


def test_a_library_that_is_missing_is_named(labeling, monkeypatch):
    for package, export in (("supervision", labeling.to_supervision), ("fiftyone", labeling.to_fiftyone)):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ConfigError, match=f"pip install {package}"):
            export()
