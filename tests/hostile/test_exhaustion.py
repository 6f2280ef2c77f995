"""Small files that ask for much memory: pictures are bounded, and converted in strips."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.pictures import KINDS, write_large

ROOT = Path(__file__).parents[2]
PEAK = """
import sys
from anyscene.data.images import read_image
from tests.hostile.wards import peak_of
before = peak_of()
image = read_image(sys.argv[1])
print((peak_of() - before) / (image.shape[0] * image.shape[1]))
"""


def bytes_a_pixel(path) -> float:
    found = subprocess.run(
        [sys.executable, "-c", PEAK, path], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return float(found.stdout)


@pytest.mark.parametrize("kind", KINDS)
def test_no_picture_takes_more_than_a_few_bytes_a_pixel(tmp_path, kind):
    assert bytes_a_pixel(write_large(tmp_path / "picture", kind, 3000)) < 15
