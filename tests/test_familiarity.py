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
from anyscene.engine.loading import familiarity_for, find_model, learned_for
from anyscene.familiarity import WARNING, Familiarity, Usual, describe, fit_usual
from anyscene.features.hypercolumn.ladder import glance_at
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


def test_the_middle_of_what_is_known_is_wholly_familiar_and_what_is_far_away_not_at_all():
    black = np.zeros((9, 9, 3), np.uint8)
    looks, features = describe(black), np.zeros(5)
    known = Familiarity(*(Usual(own, np.eye(len(own)), np.ones(8)) for own in (looks, features)))
    assert known(black) == known(black, features) == 1
    for strange in (known(np.full_like(black, 255)), known(black, np.full(5, 9.0))):
        assert strange == pytest.approx(0)


def test_it_is_kept_in_arrays():
    random = np.random.default_rng(0)
    sizes = len(describe(np.zeros((1, 1, 3), np.uint8))), 5
    known = Familiarity(*(fit_usual([random.normal(size=size) for _ in range(300)]) for size in sizes))
    again = Familiarity.from_arrays(known.to_arrays(), 5)
    pairs = (known.looks, again.looks), (known.features, again.features)
    for size, (before, after) in zip(sizes, pairs, strict=True):
        for _ in range(20):
            one = random.normal(size=size)
            assert after.remoteness(one) == pytest.approx(before.remoteness(one), abs=0.05)
        assert abs(after.remoteness(random.normal(size=size))) < 3 < after.remoteness(np.full(size, 9.0))
    broken = {**known.to_arrays(), "mean": np.full(sizes[0], np.nan, np.float32)}
    with pytest.raises(ValueError, match="numbers from nan"):
        Familiarity.from_arrays(broken, 5)
    with pytest.raises(ValueError, match="shape"):
        Familiarity.from_arrays(known.to_arrays(), 6)


@pytest.mark.parametrize("name", ["camvid", "stanford", "siftflow"])
def test_what_the_network_sees_tells_a_cat_and_noise_from_scenes(name):
    from skimage.data import chelsea
    from sklearn.datasets import load_sample_image

    learned = learned_for(name)
    bank = learned.make_bank(1).values()
    noise = np.random.default_rng(0).integers(0, 256, (360, 480, 3), np.uint8)
    cat, temple = chelsea(), np.ascontiguousarray(load_sample_image("china.jpg"))
    by_looks = learned.familiarity(cat)
    by_both = {
        key: learned.familiarity(image, glance_at(image, bank))
        for key, image in (("cat", cat), ("noise", noise))
    }
    assert by_both["cat"] <= min(by_looks, 0.1)
    assert by_both["noise"] < WARNING
    if name != "camvid":  # streets alone
        assert by_looks > 0.3
        assert learned.familiarity(temple, glance_at(temple, bank)) > WARNING


def test_a_new_image_is_familiar_also_where_few_were_trained_on():
    random = np.random.default_rng(0)
    known = fit_usual([random.normal(size=20) for _ in range(16)])
    away = [known.remoteness(random.normal(size=20)) for _ in range(100)]
    assert np.mean(np.array(away) > 2.05) <= 0.1  # as many as by chance, or not many more
    assert known.remoteness(random.normal(size=20) * 9) > 4


@pytest.mark.parametrize("images", [30, 60])
def test_where_few_were_trained_on_they_are_familiar_themselves(images):
    scenes = anyscene.data.open(f"streets:{2 * images}?size=120x90").split("all")
    streets = [scene.image for scene in scenes]
    known = Familiarity(fit_usual([describe(image) for image in streets[:images]]))
    assert np.mean([known(image) < WARNING for image in streets[:images]]) <= 0.05
    assert np.mean([known(image) < WARNING for image in streets[images:]]) <= 0.1
    assert known(np.random.default_rng(0).integers(0, 256, (90, 120, 3), np.uint8)) < WARNING


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
