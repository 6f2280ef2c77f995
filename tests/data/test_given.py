"""Images as people have them: what is unmistakable is taken, the rest is one sentence."""

import numpy as np
import pytest
from hypothesis import given as over
from hypothesis import strategies as st
from PIL import Image

from anyscene.data import read_image
from anyscene.data.given import as_rgb
from anyscene.errors import AnysceneError, ConfigError, DataError

PHOTO = np.random.default_rng(0).integers(0, 256, (9, 12, 3), np.uint8)


def test_an_rgb_array_is_taken_as_it_is():
    assert as_rgb(PHOTO) is PHOTO


def test_paths_and_pil_images(tmp_path):
    path = tmp_path / "a.png"
    Image.fromarray(PHOTO).save(path)
    for known in (path, str(path), Image.open(path)):
        np.testing.assert_array_equal(as_rgb(known), PHOTO)


@pytest.mark.parametrize("mode", ["L", "LA", "P", "RGBA", "CMYK", "1"])
def test_pil_images_of_any_mode_are_what_their_files_are(tmp_path, mode):
    picture = Image.fromarray(PHOTO).convert("I" if mode == "I;16" else mode)
    path = tmp_path / ("a.tif" if mode == "CMYK" else "a.png")
    picture.save(path)
    np.testing.assert_array_equal(as_rgb(Image.open(path)), read_image(path))


def test_grey_and_one_channel():
    for grey in (PHOTO[:, :, 0], PHOTO[:, :, :1]):
        np.testing.assert_array_equal(as_rgb(grey), np.repeat(PHOTO[:, :, :1], 3, axis=2))


@over(st.integers(0, 255))
def test_opacity_is_laid_over_white_as_in_files(opacity):
    both = np.dstack([PHOTO, np.full(PHOTO.shape[:2], opacity, np.uint8)])
    difference = as_rgb(both).astype(int) - as_rgb(Image.fromarray(both)).astype(int)
    assert abs(difference).max() <= 1


def test_frames_of_opencv_are_bgr():
    np.testing.assert_array_equal(as_rgb(PHOTO[:, :, ::-1], "bgr"), PHOTO)
    opaque = np.dstack([PHOTO[:, :, ::-1], np.full(PHOTO.shape[:2], 255, np.uint8)])
    np.testing.assert_array_equal(as_rgb(opaque, "bgr"), PHOTO)


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        (None, "found None; cv2.imread gives that"),
        ([1, 2], "found a list"),
        (b"JFIF", r"found bytes; .* PIL.Image.open"),
        (0, "found a number; cv2.VideoCapture"),
        (PHOTO / 255, r"from 0 to 1 give \(255 \* image\)"),
        (PHOTO.astype(np.int64), "uint8, found int64"),
        (PHOTO.transpose(2, 0, 1), "channels come last"),
        (PHOTO[None], "one image of the batch"),
        (PHOTO[:0], "not empty"),
        (np.zeros((8, 8, 2), np.uint8), "channels='bgr'"),
    ],
)
def test_the_rest_is_one_sentence(wrong, advice):
    with pytest.raises(DataError, match=advice):
        as_rgb(wrong)


def test_a_path_that_leads_nowhere_and_channels_that_are_none(tmp_path):
    with pytest.raises(AnysceneError, match="no such file"):
        as_rgb(tmp_path / "none.png")
    with pytest.raises(ConfigError, match="'rgb' or, for frames of OpenCV, 'bgr'"):
        as_rgb(PHOTO, "gbr")
