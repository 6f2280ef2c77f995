import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.server.sniffing import MOST_SEGMENTS, claim_of, scans_of
from tests.server.conftest import packed

sides = st.integers(1, 300)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("PNG", {}),
        ("JPEG", {}),
        ("JPEG", {"progressive": True}),
        ("WEBP", {}),
        ("WEBP", {"lossless": True}),
        ("GIF", {}),
        ("BMP", {}),
    ],
)
@given(width=sides, height=sides)
def test_the_size_is_what_the_decoder_sees(kind, options, width, height):
    data = packed(np.zeros((height, width, 3), np.uint8), kind, **options)
    assert claim_of(data) == (kind.lower(), width, height)


def test_a_transparent_webp_has_its_size_elsewhere():
    data = packed(np.zeros((20, 30, 4), np.uint8), "WEBP", exif=b"Exif\0\0II*\0")
    assert claim_of(data) == ("webp", 30, 20)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
@given(cut=st.integers(0, 200), noise=st.binary(max_size=40))
def test_whatever_comes_there_is_a_claim_or_none(kind, cut, noise):
    claim = claim_of(packed(np.zeros((9, 9, 3), np.uint8), kind)[:cut] + noise)
    assert claim is None or claim.kind == kind.lower()


@given(st.binary(max_size=200))
def test_noise_is_no_picture(data):
    assert claim_of(b"\x00" + data) is None


@pytest.mark.parametrize("piece", [b"\xff", b"\xff\xe0\x00\x02"])
def test_a_jpeg_of_endless_metadata_is_not_read_through(piece):
    data = packed(np.zeros((9, 9, 3), np.uint8), "JPEG")
    assert claim_of(data[:2] + 100 * piece + data[2:]) == ("jpeg", 9, 9)
    assert claim_of(data[:2] + MOST_SEGMENTS * piece + data[2:]) is None


def test_scans_are_counted():
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    assert scans_of(packed(noise, "JPEG")) == 1
    assert scans_of(packed(noise, "JPEG", progressive=True)) > 5
