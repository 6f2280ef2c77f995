"""A small, seeded part of the campaign: `make hostile` runs all of it."""

import numpy as np
import pytest

from tests.hostile.campaign import BAD, opened
from tests.hostile.forge import BACKBONES, MODELS, take_apart
from tests.hostile.mutators import damaged_file, forged_file
from tests.hostile.trained import pictures


def forger(path):
    parts = take_apart(path)
    return lambda random, number: forged_file(parts, random)


def damager(content):
    return lambda random, number: damaged_file(content, random)


def any_picture(random, number):
    return damaged_file(list(pictures().values())[number % len(pictures())], random)


CAMVID, BACKBONE = MODELS / "camvid.anyscene", BACKBONES / "camvid.backbone"
KINDS = {
    "signed model": ("model", ".anyscene", forger(CAMVID), CAMVID.read_bytes(), 25),
    "damaged model": ("model", ".anyscene", damager(CAMVID.read_bytes()), CAMVID.read_bytes(), 10),
    "signed backbone": ("backbone", ".backbone", forger(BACKBONE), BACKBONE.read_bytes(), 10),
    "picture": ("picture", "", any_picture, pictures()["png"], 60),
}


@pytest.mark.parametrize("name", KINDS)
def test_hostile_files_are_refused_or_harmless(tmp_path, name):
    kind, suffix, make, whole, count = KINDS[name]
    case = opened(kind, suffix, make, whole)
    for number in range(count):
        found = case(tmp_path, np.random.default_rng([1, number]), number)
        assert found["verdict"] not in BAD, (number, found)
        if name.startswith("damaged"):  # whose checksums are those of another file
            assert found["verdict"] != "other"
