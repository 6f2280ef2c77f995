import json
import zipfile
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from anyscene.data.classes import VOID, Classes
from anyscene.labeling import Labeling
from anyscene.server.answers import encode

CLASSES = Classes(("sky", "road", "car"), np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], np.uint8))
maps = arrays(np.int16, st.tuples(st.integers(1, 40), st.integers(1, 40)), elements=st.integers(VOID, 2))


def labeling_of(labels):
    confidence = np.full(labels.shape, 0.5, np.float32)
    return Labeling(labels, CLASSES, confidence)


@given(maps)
def test_a_png_of_ids_is_the_one_that_is_saved(tmp_path_factory, labels):
    path = tmp_path_factory.mktemp("png") / "saved.png"
    labeling = labeling_of(labels)
    labeling.save(path)
    ours, saved = Image.open(BytesIO(encode(labeling, None, "ids"))), Image.open(path)
    assert ours.mode == saved.mode == "P"
    assert (np.asarray(ours) == np.asarray(saved)).all()
    assert ours.getpalette()[:768] == saved.getpalette()[:768]


@given(maps)
def test_an_npz_is_read_by_numpy(labels):
    data = encode(labeling_of(labels), None, "npz")
    loaded = np.load(BytesIO(data), allow_pickle=False)
    assert (np.where(loaded["labels"] == 255, VOID, loaded["labels"].astype(int)) == labels).all()
    assert (loaded["confidence"] == 128).all()
    assert json.loads(zipfile.ZipFile(BytesIO(data)).read("summary.json"))["width"] == labels.shape[1]


def test_an_overlay_is_the_one_of_the_labeling(scene):
    labeling = labeling_of(np.full(scene.shape[:2], 1, np.int16))
    shown = np.asarray(Image.open(BytesIO(encode(labeling, scene, "overlay"))))
    assert (shown == labeling.overlay(scene)).all()


def test_json_tells_shares_and_masks():
    labels = np.array([[0, 0, 1, VOID]], np.int16)
    told = json.loads(encode(labeling_of(labels), None, "json"))
    assert told["shares"] == {"sky": 0.5, "road": 0.25, "car": 0.0}
    assert [one["category_id"] for one in told["annotations"]] == [1, 2]
    assert [one["name"] for one in told["categories"]] == ["sky", "road", "car"]
    assert told["mean_confidence"] == pytest.approx(0.5)
