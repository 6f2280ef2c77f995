import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from anyscene.data.images import (
    IMAGE_SUFFIXES,
    MOST_PIXELS,
    STRIP_PIXELS,
    decode_image,
    read_image,
    read_label,
    read_size,
)
from anyscene.errors import ConfigError, ImageError
from tests.data.trees import picture, save

COLOR = picture(20, 30)
GREY = COLOR[:, :, 0]


def as_rgb(grey):
    return np.repeat(grey[:, :, None], 3, axis=2)


def over_white(color, alpha):
    weight = alpha[:, :, None] / 255
    return np.rint(color * weight + 255 * (1 - weight))


@given(arrays(np.uint8, st.tuples(st.integers(1, 40), st.integers(1, 40), st.just(3))))
def test_a_lossless_picture_comes_back_as_it_was(tmp_path, image):
    path = save(tmp_path / "picture.png", image)
    read = read_image(path)
    assert read.dtype == np.uint8
    assert read.flags.writeable
    np.testing.assert_array_equal(read, image)
    assert read_size(path) == (image.shape[1], image.shape[0])


@pytest.mark.parametrize("suffix", ["png", "bmp", "tiff", "ppm", "webp"])
def test_every_lossless_format_gives_the_same_pixels(tmp_path, suffix):
    path = save(tmp_path / f"picture.{suffix}", COLOR, **({"lossless": True} if suffix == "webp" else {}))
    np.testing.assert_array_equal(read_image(path), COLOR)


def test_grey_has_three_equal_channels(tmp_path):
    np.testing.assert_array_equal(read_image(save(tmp_path / "grey.png", GREY)), as_rgb(GREY))


def test_one_bit_is_black_and_white(tmp_path):
    bits = GREY > 128
    np.testing.assert_array_equal(
        read_image(save(tmp_path / "bits.png", bits)), as_rgb(bits.astype(np.uint8) * 255)
    )


def test_transparency_is_laid_over_white(tmp_path):
    alpha = picture(20, 30, seed=1)[:, :, 0]
    expected = over_white(COLOR, alpha)
    read = read_image(save(tmp_path / "rgba.png", np.dstack([COLOR, alpha])))
    assert np.abs(read - expected).max() <= 1
    grey_alpha = Image.fromarray(np.dstack([GREY, alpha]))
    grey_alpha.save(tmp_path / "la.png")
    assert np.abs(read_image(tmp_path / "la.png") - over_white(as_rgb(GREY), alpha)).max() <= 1


def test_invisible_pixels_are_white_whatever_their_colour(tmp_path):
    red = np.full((2, 2, 4), (255, 0, 0, 0), np.uint8)
    assert (read_image(save(tmp_path / "red.png", red)) == 255).all()


def test_a_transparent_colour_is_white(tmp_path):
    path = save(tmp_path / "key.png", np.full((2, 2, 3), 7, np.uint8), transparency=(7, 7, 7))
    assert (read_image(path) == 255).all()


def palette_picture():
    made = Image.fromarray((GREY % 3).astype(np.uint8))
    made.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    return made


def test_a_palette_gives_its_colours(tmp_path):
    palette_picture().save(tmp_path / "palette.png")
    np.testing.assert_array_equal(
        read_image(tmp_path / "palette.png"), (np.eye(3, dtype=np.uint8) * 255)[GREY % 3]
    )


def test_a_palette_may_have_a_transparent_colour(tmp_path):
    palette_picture().save(tmp_path / "palette.png", transparency=1)
    read = read_image(tmp_path / "palette.png")
    assert (read[GREY % 3 == 1] == 255).all()
    assert (read[GREY % 3 == 0] == (255, 0, 0)).all()


@pytest.mark.parametrize("suffix", ["png", "tiff"])
def test_sixteen_bit_grey_is_scaled_not_clipped(tmp_path, suffix):
    deep = np.array([[0, 128, 129, 257, 32768, 65535]], np.uint16)
    read = read_image(save(tmp_path / f"deep.{suffix}", deep))
    np.testing.assert_array_equal(read[0, :, 0], np.rint(deep[0] / 257))
    np.testing.assert_array_equal(read, as_rgb(read[:, :, 0]))


def test_sixteen_bit_portable_greymap(tmp_path):
    deep = np.array([[0, 32768, 65535]], ">u2")
    (tmp_path / "deep.pgm").write_bytes(b"P5 3 1 65535\n" + deep.tobytes())
    assert read_image(tmp_path / "deep.pgm")[0, :, 0].tolist() == [0, 128, 255]


def test_sixteen_bit_colour_keeps_the_high_byte(tmp_path):
    deep = np.array([[[0x1234, 0xABCD, 0xFFFF], [0, 255, 256]]], ">u2")
    rows = b"".join(b"\0" + row.tobytes() for row in deep)
    (tmp_path / "deep.png").write_bytes(png(width=2, height=1, depth=16, color=2, rows=rows))
    np.testing.assert_array_equal(read_image(tmp_path / "deep.png"), deep >> 8)


@pytest.mark.parametrize(
    ("white", "values"), [(1, [0, 0.5, 1]), (255, [0, 127.5, 255]), (65535, [0, 32767.5, 65535])]
)
def test_float_pictures_are_taken_by_their_range(tmp_path, white, values):
    read = read_image(save(tmp_path / "float.tiff", np.array([values], np.float32)))
    assert read[0, :, 0].tolist() == [0, 128, 255]


def test_float_pictures_of_no_usual_range_are_stretched(tmp_path):
    read = read_image(save(tmp_path / "float.tiff", np.array([[-2, 0, 2, np.nan]], np.float32)))
    assert read[0, :, 0].tolist() == [0, 128, 255, 128]
    flat = read_image(save(tmp_path / "flat.tiff", np.full((2, 2), -3, np.float32)))
    assert (flat == 0).all()
    endless = read_image(save(tmp_path / "endless.tiff", np.array([[np.inf, 0.5, -np.inf]], np.float32)))
    assert endless[0, :, 0].tolist() == [0, 128, 0]


def test_cmyk_becomes_rgb(tmp_path):
    Image.fromarray(COLOR).resize((64, 64)).convert("CMYK").save(tmp_path / "cmyk.tiff")
    Image.new("CMYK", (16, 16), (0, 255, 255, 0)).save(tmp_path / "red.jpg", quality=100)
    assert read_image(tmp_path / "cmyk.tiff").shape == (64, 64, 3)
    red = read_image(tmp_path / "red.jpg").reshape(-1, 3).mean(0)
    assert red[0] > 245
    assert red[1:].max() < 10


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied(tmp_path, orientation):
    upright = COLOR
    turned = {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.transpose(1, 0, 2),
        6: np.rot90(upright),
        7: upright[::-1, ::-1].transpose(1, 0, 2),
        8: np.rot90(upright, -1),
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    for suffix in ("png", "tiff"):
        path = save(tmp_path / f"turned.{suffix}", np.ascontiguousarray(turned), exif=exif)
        np.testing.assert_array_equal(read_image(path), upright)


@pytest.mark.parametrize("suffix", ["gif", "png", "webp"])
def test_an_animation_gives_its_first_frame(tmp_path, suffix):
    frames = [Image.new("RGB", (8, 6), color) for color in ("red", "lime", "blue")]
    path = tmp_path / f"moving.{suffix}"
    frames[0].save(
        path, save_all=True, append_images=frames[1:], **({"lossless": True} if suffix == "webp" else {})
    )
    assert (read_image(path) == (255, 0, 0)).all()


def test_a_photograph_with_a_preview_in_the_same_file_is_a_picture(tmp_path):
    Image.new("RGB", (64, 48), "red").save(
        tmp_path / "two.jpg", "MPO", save_all=True, append_images=[Image.new("RGB", (8, 6))]
    )
    read = read_image(tmp_path / "two.jpg")
    assert read.shape == (48, 64, 3)
    assert read[..., 0].min() > 250


def test_one_pixel_is_a_picture(tmp_path):
    assert read_image(save(tmp_path / "tiny.png", COLOR[:1, :1])).shape == (1, 1, 3)


@pytest.mark.filterwarnings("error")
def test_forty_megapixels_are_let_through(tmp_path):
    Image.new("L", (8000, 5200), 9).save(tmp_path / "big.png", compress_level=1)
    read = read_image(tmp_path / "big.png")
    assert read.shape == (5200, 8000, 3)
    assert (read[::1000, ::1000] == 9).all()


@pytest.mark.filterwarnings("error")
def test_a_size_that_pillow_warns_of_is_let_through_in_silence(tmp_path):
    (tmp_path / "big.png").write_bytes(png(width=12_000, height=8_000, depth=8, color=2, rows=b""))
    assert read_size(tmp_path / "big.png") == (12_000, 8_000)


def png(width, height, depth, color, rows):
    """Write a PNG by hand, for headers and depths that Pillow does not write."""

    def chunk(kind, content):
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("read", [read_image, read_label, read_size])
def test_a_bomb_is_refused_before_it_is_decoded(tmp_path, read):
    path = tmp_path / "bomb.png"
    path.write_bytes(png(width=60_000, height=60_000, depth=8, color=2, rows=b"\0" * 1000))
    with pytest.raises(ImageError, match=f"bomb.png: claims more than {MOST_PIXELS // 10**6} million pixels"):
        read(path)


def test_the_bound_on_pixels_can_be_moved(tmp_path, monkeypatch):
    path = save(tmp_path / "picture.png", COLOR)
    monkeypatch.setenv("ANYSCENE_MAX_PIXELS", "599")
    with pytest.raises(ImageError, match="ANYSCENE_MAX_PIXELS"):
        read_image(path)
    monkeypatch.setenv("ANYSCENE_MAX_PIXELS", "600")
    assert read_image(path).shape == COLOR.shape
    monkeypatch.setenv("ANYSCENE_MAX_PIXELS", "many")
    with pytest.raises(ConfigError, match="must be a number of pixels"):
        read_image(path)


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGB", "RGBA", "CMYK", "I;16", "F"])
def test_strips_join_without_a_seam(tmp_path, mode):
    height = STRIP_PIXELS // 1000 + 7
    rows = np.arange(height * 1000, dtype=np.int64).reshape(height, 1000)
    grey = Image.fromarray((rows % 251).astype(np.uint8))
    deep = {"I;16": rows % 65521, "F": rows / rows.max()}
    made = (
        grey.convert(mode)
        if mode not in deep
        else Image.fromarray(deep[mode].astype("f4" if mode == "F" else "u2"))
    )
    made.save(tmp_path / "tall.tiff")
    with Image.open(tmp_path / "tall.tiff") as again:
        whole = np.asarray(again).astype(np.float64)
        expected = np.asarray(again.convert("RGB")) if mode not in deep else None
    if expected is None:
        scaled = np.rint(whole * 255 / (65535 if mode == "I;16" else 1))
        expected = as_rgb(scaled.astype(np.uint8))
    np.testing.assert_array_equal(read_image(tmp_path / "tall.tiff"), expected)


def test_pictures_of_phones_are_read_or_named(tmp_path):
    save(tmp_path / "a.jpg", COLOR).rename(tmp_path / "a.jfif")
    assert read_image(tmp_path / "a.jfif").shape == COLOR.shape
    (tmp_path / "b.heic").write_bytes(b"\0\0\0\x18ftypheic" + bytes(100))
    with pytest.raises(ImageError, match="HEIC pictures cannot be read; use PNG"):
        read_image(tmp_path / "b.heic")
    assert {".heic", ".avif", ".jfif"} <= IMAGE_SUFFIXES


@pytest.mark.parametrize("suffix", ["png", "jpg", "webp", "gif", "bmp", "tiff", "ppm"])
@pytest.mark.parametrize("kept", [0.02, 0.3, 0.8])
def test_a_file_cut_short_is_refused(tmp_path, suffix, kept):
    path = save(tmp_path / f"short.{suffix}", picture(64, 64))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole))])
    with pytest.raises(ImageError, match=f"short.{suffix}: "):
        read_image(path)


@pytest.mark.filterwarnings("error")
@given(st.data())
def test_any_damage_gives_an_image_or_an_image_error(tmp_path, data):
    buffer = io.BytesIO()
    Image.fromarray(picture(16, 16)).save(
        buffer, data.draw(st.sampled_from(["PNG", "JPEG", "GIF", "TIFF", "WEBP"]))
    )
    content = bytearray(buffer.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    (tmp_path / "damaged").write_bytes(content)
    try:
        read = read_image(tmp_path / "damaged")
    except ImageError:
        return
    assert read.dtype == np.uint8
    assert read.ndim == 3


def test_what_is_no_image_is_refused_with_advice(tmp_path):
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "text.png").write_text("hello, I am not an image")
    (tmp_path / "program.png").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n")
    for name, sentence in [
        ("empty.png", "the file is empty; copy or download it again"),
        ("text.png", "not an image that can be read; use PNG, JPEG or WebP"),
        ("program.png", "not an image that can be read; use PNG, JPEG or WebP"),
        ("absent.png", "there is no such file; check the path"),
        (".", "this is a folder; name a file"),
    ]:
        with pytest.raises(ImageError) as raised:
            read_image(tmp_path / name)
        assert str(raised.value) == f"{tmp_path / name}: {sentence}"


def test_labels_keep_their_ids(tmp_path):
    ids = (GREY % 7).astype(np.uint8)
    with_palette = Image.fromarray(ids)
    with_palette.putpalette(list(range(100, 121)))
    with_palette.save(tmp_path / "palette.png")
    for path in (
        tmp_path / "palette.png",
        save(tmp_path / "grey.png", ids),
        save(tmp_path / "deep.png", ids.astype(np.uint16)),
    ):
        read = read_label(path)
        assert read.dtype == np.int32
        np.testing.assert_array_equal(read, ids)
    np.testing.assert_array_equal(read_label(save(tmp_path / "color.png", COLOR)), COLOR)
    np.testing.assert_array_equal(read_label(save(tmp_path / "bits.png", ids > 3)), ids > 3)


@pytest.mark.parametrize("subsampling", [0, 1, 2])
@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_jpegs_in_memory_are_read_like_files(tmp_path, mode, orientation, progressive, subsampling):
    image = Image.fromarray(COLOR).resize((61, 43)).convert(mode)
    exif = image.getexif()
    exif[0x0112] = orientation
    path = tmp_path / "picture.jpg"
    image.save(path, exif=exif, progressive=progressive, subsampling=subsampling)
    data = path.read_bytes()
    np.testing.assert_array_equal(decode_image(data), read_image(path))
    np.testing.assert_array_equal(decode_image(data + b"and what a camera adds"), read_image(path))


@pytest.mark.parametrize("part", [0.5, 0.8, 0.999])
def test_a_jpeg_that_is_cut_short_is_told(part):
    file = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)).save(file, "JPEG")
    data = file.getvalue()
    with pytest.raises(ImageError, match="cut short"):
        decode_image(data[: int(part * len(data))])
