"""How training images are varied; needs torch only because the package does."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.train

from anyscene.learning.backbone.appearance import change_appearance  # noqa: E402 - needs torch
from anyscene.learning.backbone.batches import SMALL, Source, draw_batch  # noqa: E402
from anyscene.learning.backbone.recipe import Recipe  # noqa: E402

PLAIN = {"jitter": 0.0}


def changed(picture, times=40, **settings):
    rng = np.random.default_rng(0)
    recipe = Recipe(**PLAIN, **settings)
    return [change_appearance(picture, recipe, rng) * 128 + 127 for _ in range(times)]


def checks():
    rows, columns = np.indices((32, 32))
    return np.repeat((((rows + columns) % 2) * 255).astype(np.uint8)[:, :, None], 3, axis=2)


def ramp():
    return np.repeat(np.tile(np.arange(256, dtype=np.uint8), (4, 1))[:, :, None], 3, axis=2)


def test_nothing_changes_where_a_recipe_asks_for_nothing():
    for picture in changed(ramp()):
        np.testing.assert_allclose(picture, ramp(), atol=1e-3)


def test_gamma_darkens_and_brightens_but_keeps_black_white_and_order():
    pictures = changed(ramp(), gamma=1.0)
    middles = [picture[0, 128, 0] for picture in pictures]
    assert min(middles) < 90
    assert max(middles) > 165
    for picture in pictures:
        np.testing.assert_allclose(picture[0, [0, 255], 0], [0, 255], atol=1e-3)
        assert (np.diff(picture[0, :, 0]) >= -1e-3).all()


def test_haze_takes_contrast_and_never_more_than_its_share():
    spreads = np.array([np.ptp(picture) / 255 for picture in changed(ramp(), haze=0.6)])
    assert spreads.min() < 0.6
    assert (spreads > 0.399).all()
    assert 0.2 < np.mean(np.isclose(spreads, 1)) < 0.8


def test_blur_smooths_about_every_second_image():
    spreads = np.array([picture[8:24, 8:24].std() for picture in changed(checks(), blur=2.0)])
    assert spreads.min() < 10
    assert 0.2 < np.mean(spreads > 127) < 0.8


def test_noise_differs_from_pixel_to_pixel_and_is_no_larger_than_asked():
    grey = np.full((64, 64, 3), 127, np.uint8)
    spreads = np.array([picture.std() / 128 for picture in changed(grey, noise=0.2)])
    assert 0.1 < spreads.max() < 0.205
    assert 0.2 < np.mean(spreads == 0) < 0.8


def test_small_inputs_come_more_often_and_squeezed_ones_are_lower():
    source = Source("some", [noise()], [np.zeros((288, 384), np.int16)])
    plain = Recipe(long_side=384, full_share=0.0, crop=1.0, batch=1, smallest=0.2)
    small = [batch_size(source, plain.model_copy(update={"small_share": share})) for share in (0.0, 1.0)]
    assert max(width for _, width in small[1]) <= 384 * SMALL + 16 < max(width for _, width in small[0])
    squeezed = batch_size(source, plain.model_copy(update={"squeeze": 0.5, "smallest": 1.0}))
    assert {height for height, _ in squeezed} > {160, 256}
    assert {width for _, width in squeezed} == {384}


def noise():
    return np.random.default_rng(0).integers(0, 256, (288, 384, 3), dtype=np.uint8)


def batch_size(source, recipe):
    rng = np.random.default_rng(0)
    return [draw_batch([source], recipe, rng).images.shape[2:] for _ in range(30)]
