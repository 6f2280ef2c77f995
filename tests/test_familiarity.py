"""Images like the training images are familiar; noise, blank pictures and other worlds are not."""

import json

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image
from typer.testing import CliRunner

import anyscene
from anyscene.apps.main import app
from anyscene.engine.loading import familiarity_for, find_model
from anyscene.familiarity import WARNING, Familiarity, describe, fit_familiarity
from anyscene.modelfile import load_model


@pytest.fixture(scope="module")
def camvid():
    path = find_model("camvid")
    return familiarity_for(load_model(path), path)


def test_noise_and_blank_pictures_are_unlike_streets(camvid):
    noise = np.random.default_rng(0).integers(0, 256, (360, 480, 3), np.uint8)
    for image in (noise, np.zeros_like(noise), np.full_like(noise, 128), cv2.GaussianBlur(noise, (0, 0), 6)):
        assert camvid(image) < WARNING


def test_a_flower_is_unlike_streets(camvid):
    from sklearn.datasets import load_sample_image

    assert camvid(load_sample_image("flower.jpg")) < WARNING


@pytest.mark.real_data
def test_streets_that_were_not_trained_on_are_familiar(camvid, data_root):
    scenes = anyscene.data.open(f"camvid:{data_root}/CamVid").split("val")
    values = [camvid(scenes.image(index)) for index in range(0, len(scenes), 5)]
    assert np.mean(np.array(values) < WARNING) <= 0.05


@given(arrays(np.uint8, st.tuples(st.integers(1, 30), st.integers(1, 30), st.just(3))))
def test_any_image_has_a_familiarity_between_0_and_1(image):
    path = find_model("stanford")
    known = familiarity_for(load_model(path), path)
    assert 0 <= known(image) <= 1


def test_it_is_kept_in_arrays():
    random = np.random.default_rng(0)
    size = len(describe(np.zeros((1, 1, 3), np.uint8)))
    known = fit_familiarity([random.normal(size=size) for _ in range(300)])
    again = Familiarity.from_arrays(known.to_arrays())
    for _ in range(20):
        one = random.normal(size=size)
        assert again.of(one) == pytest.approx(known.of(one), abs=0.05)
    assert known.of(np.full(size, 9.0)) == 0
    for odd, why in {
        "mean": (np.full(size, np.nan, np.float32), "beyond"),
        "precision": (np.zeros((size, 1), np.float32), "shape"),
        "distances": (np.zeros((), np.float32), "shape"),
    }.items():
        with pytest.raises(ValueError, match=why[1]):
            Familiarity.from_arrays({**known.to_arrays(), odd: why[0]})


def test_a_model_of_ones_own_knows_its_own(engine, streets, model_file, tmp_path):
    assert engine.label(streets.split("val")[0].image).familiarity is not None
    assert engine.label(streets.split("val")[0].image, budget="1s").familiarity is None
    noise = np.random.default_rng(0).integers(0, 256, (90, 120, 3), np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")
    arguments = [
        "label",
        tmp_path / "noise.png",
        "--model",
        model_file,
        "-o",
        tmp_path / "o",
        "--budget",
        "1s",
    ]
    done = CliRunner().invoke(app, [*map(str, arguments)])
    assert "unlike anything the model was trained on" in done.output
    record = json.loads((tmp_path / "o/records.jsonl").read_text())
    assert record["familiarity"] < WARNING


def test_a_description_has_one_length_whatever_the_image():
    assert len({len(describe(np.zeros((h, w, 3), np.uint8))) for h, w in ((1, 1), (7, 900), (400, 300))}) == 1
