"""`streets:`, the data set of generated scenes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from anyscene.data.camvid import CLASSES
from anyscene.data.scenes import DataSet
from anyscene.data.specs import parse_size
from anyscene.data.streets.camera import FRAME_HEIGHT, FRAME_WIDTH
from anyscene.data.streets.drawing import draw_street
from anyscene.errors import DataError

OPTIONS = ("size", "seed")
MOST = 1_000_000

# A scene's image and truth are asked for one after the other, but drawn together.
_drawn = lru_cache(maxsize=4)(draw_street)


def open_streets(count: str = "", size: str = f"{FRAME_WIDTH}x{FRAME_HEIGHT}", seed: str = "0") -> DataSet:
    """Open `count` generated scenes (100 if empty); all settings as text, as in `streets:200?size=240x180`.

    Of five scenes in a row three are for training, one each for validation and test. Data sets of different
    seeds share no scene.
    """
    number = _whole_number("COUNT", count or "100", 1)
    first = _whole_number("seed", seed, 0) * MOST
    ids = [f"{id:07d}" for id in range(first, first + number)]
    streets = Streets(parse_size(size))
    return DataSet("streets", CLASSES, _splits(ids), streets.image, streets.truth)


@dataclass(frozen=True)
class Streets:
    """Draws scenes of one size (width, height) by their ids."""

    size: tuple[int, int]

    def image(self, id: str) -> NDArray[np.uint8]:
        """Draw the image of a scene, uint8[H, W, 3]."""
        return _drawn(int(id), self.size)[0].copy()

    def truth(self, id: str) -> NDArray[np.int16]:
        """Draw the truth of a scene, int16[H, W]."""
        return _drawn(int(id), self.size)[1].copy()


def _splits(ids: list[str]) -> dict[str, list[str]]:
    """Deal out scenes in turn, so that a larger data set of the same seed keeps each scene in its split."""
    train = [id for turn, id in enumerate(ids) if turn % 5 < 3]
    return {
        "train": train,
        "val": ids[3::5],
        "test": ids[4::5],
        "a": train[0::2],
        "b": train[1::2],
        "all": ids,
    }


def _whole_number(name: str, text: str, low: int) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or not low <= int(text) <= MOST:
        raise DataError(
            f"{name} is '{text}', not a whole number from {low} to {MOST}; "
            "write streets:COUNT?size=WIDTHxHEIGHT&seed=NUMBER, every part of it optional"
        )
    return int(text)
