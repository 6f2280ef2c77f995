"""`streets:`, the data set of generated scenes."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import parse_qsl

import numpy as np
from numpy.typing import NDArray

from anyscene.data.camvid import CLASSES
from anyscene.data.scenes import DataSet
from anyscene.data.streets.camera import FRAME_HEIGHT, FRAME_WIDTH
from anyscene.data.streets.drawing import draw_street
from anyscene.errors import DataError

DEFAULT_COUNT = 100
MOST = 1_000_000
FORM = "write streets:COUNT?size=WIDTHxHEIGHT&seed=NUMBER, every part of it optional"


def open_streets(rest: str) -> DataSet:
    """Open generated scenes by what follows `streets:`, such as `200?size=240x180&seed=7`.

    Of five scenes in a row three are for training, one each for validation and test. Data sets of different
    seeds share no scene.
    """
    count_text, _, query = rest.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    unknown = sorted(options.keys() - {"size", "seed"})
    if unknown:
        raise DataError(
            f"'streets:{rest}': streets has no setting '{unknown[0]}' (settings: size, seed); {FORM}"
        )
    count = _whole_number(rest, "COUNT", count_text or str(DEFAULT_COUNT), 1, MOST)
    seed = _whole_number(rest, "seed", options.get("seed", "0"), 0, MOST)
    size = _size(rest, options.get("size", f"{FRAME_WIDTH}x{FRAME_HEIGHT}"))
    ids = [f"{seed * MOST + number:07d}" for number in range(count)]

    # A scene's image and truth are asked for one after the other, but drawn together.
    @lru_cache(maxsize=4)
    def drawn(id: str) -> tuple[NDArray[np.uint8], NDArray[np.int16]]:
        return draw_street(int(id), size)

    def load_image(id: str) -> NDArray[np.uint8]:
        return drawn(id)[0].copy()

    def load_truth(id: str) -> NDArray[np.int16]:
        return drawn(id)[1].copy()

    return DataSet("streets", CLASSES, _splits(ids), load_image, load_truth)


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


def _whole_number(rest: str, name: str, text: str, low: int, high: int) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or not low <= int(text) <= high:
        raise DataError(
            f"'streets:{rest}': {name} is '{text}', not a whole number from {low} to {high}; {FORM}"
        )
    return int(text)


def _size(rest: str, text: str) -> tuple[int, int]:
    sides = re.fullmatch(r"([1-9][0-9]{0,3})x([1-9][0-9]{0,3})", text)
    if not sides:
        raise DataError(f"'streets:{rest}': size is '{text}', not WIDTHxHEIGHT of 1 to 9999 pixels; {FORM}")
    return int(sides[1]), int(sides[2])
