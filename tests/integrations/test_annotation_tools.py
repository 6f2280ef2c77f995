"""What annotation tools get is what was labelled; run where their libraries are installed."""

import sys

import numpy as np
import pytest
from PIL import Image

from anyscene.errors import ConfigError
from anyscene.integrations import cvat, label_studio


def test_cvat_gets_a_mask_for_each_class(model_file, engine, streets):
    masks = pytest.importorskip("cvat_sdk.masks")
    image = Image.fromarray(streets.split("val")[0].image)
    function = cvat.create(str(model_file))
    assert [label.name for label in function.spec.labels] == list(engine.classes.names)
    expected = engine.label(image).labels
    found = function.detect(None, image)
    assert {one.label_id for one in found} == set(np.unique(expected).tolist())
    for one in found:
        decoded = masks.decode_mask(one.points, image_width=image.width, image_height=image.height)
        np.testing.assert_array_equal(decoded, expected == one.label_id)
    assert len(cvat.create(str(model_file), "0ms").detect(None, image)) == 1  # nothing but the prior


def test_label_studio_gets_a_brush_region_for_each_class(engine, streets):
    brush = pytest.importorskip("label_studio_sdk.converter.brush")
    labeling = engine.label(streets.split("val")[0].image)
    made = label_studio.task(labeling, "https://example.com/a.jpg")["predictions"][0]
    assert 0 < made["score"] <= 1
    for region in made["result"]:
        (name,) = region["value"]["brushlabels"]
        flat = brush.decode_rle(region["value"]["rle"])
        mask = flat.reshape(region["original_height"], region["original_width"], 4)[:, :, 3] > 0
        np.testing.assert_array_equal(mask, labeling.masks()[name])


def test_what_is_missing_is_named(engine, streets, monkeypatch):
    monkeypatch.setitem(sys.modules, "cvat_sdk", None)
    monkeypatch.setitem(sys.modules, "label_studio_sdk", None)
    monkeypatch.setitem(sys.modules, "label_studio_sdk.converter.brush", None)
    with pytest.raises(ConfigError, match="pip install cvat-sdk"):
        cvat.MaskFunction(engine, None)
    with pytest.raises(ConfigError, match="pip install label-studio-sdk"):
        label_studio.prediction(engine.label(streets.split("val")[0].image))
