"""Codebooks of textons and SIFT words."""

import numpy as np
import pytest

from anyscene.errors import DataError
from anyscene.features.codebooks import learn_codebook, nearest_words, sample_rows
from anyscene.features.sift import Sift, fit_sift
from anyscene.features.texture import FILTERS, Texture, filter_answers, fit_texture
from anyscene.features.view import View


def test_the_nearest_word_is_nearest():
    random = np.random.default_rng(0)
    vectors, words = (
        random.normal(size=(5, 7, 4)).astype(np.float32),
        random.normal(size=(9, 4)).astype(np.float32),
    )
    distances = np.linalg.norm(vectors[:, :, None] - words, axis=3)
    np.testing.assert_array_equal(nearest_words(vectors, words), distances.argmin(axis=2))


def test_clusters_are_found():
    random = np.random.default_rng(0)
    centers = np.array([[0, 0], [9, 0], [0, 9]], np.float32)
    samples = (centers[random.integers(3, size=900)] + random.normal(scale=0.1, size=(900, 2))).astype(
        np.float32
    )
    found = learn_codebook(samples, 3, random)
    assert {tuple(np.round(center).astype(int)) for center in found} == {(0, 0), (9, 0), (0, 9)}


def test_too_few_samples_are_an_error():
    with pytest.raises(DataError, match="3 samples are too few"):
        learn_codebook(np.zeros((3, 2), np.float32), 10, np.random.default_rng(0))


def test_rows_are_sampled_without_repetition():
    rows = np.arange(50, dtype=np.float32)[:, None]
    chosen = sample_rows(rows, 20, np.random.default_rng(0))
    assert len(np.unique(chosen)) == 20
    assert sample_rows(rows, 80, np.random.default_rng(0)) is rows


@pytest.mark.parametrize(("fit", "set_class", "words"), [(fit_texture, Texture, 48), (fit_sift, Sift, 100)])
def test_one_seed_gives_one_codebook(fit, set_class, words, streets):
    images = [scene.image for scene in streets.split("train")[:3]]
    first, second = (set_class(**fit(images, np.random.default_rng(5))) for _ in range(2))
    assert first.fingerprint() == second.fingerprint()
    assert first.dimensions == words


def test_textons_tell_light_edges_and_colour_apart():
    image = np.zeros((64, 96, 3), np.uint8)
    image[:, 32:64] = 255
    image[:, 64:] = (200, 30, 30)
    view = View(image)
    answers = filter_answers(view)
    assert answers.shape == (16, 24, FILTERS)
    dark, light, red, edge = answers[8, 2], answers[8, 12], answers[8, 21], answers[8, 8]
    assert dark[0] < red[0] < light[0]
    assert red[1] > light[1] + 30
    assert edge[9] > dark[9] + 10
