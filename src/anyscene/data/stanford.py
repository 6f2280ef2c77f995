"""Stanford Background: `images/*.jpg` with `labels/*.regions.txt`, text matrices of class ids."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyscene.data.classes import VOID, Classes
from anyscene.data.pairs import Pairs, files_by_stem
from anyscene.data.scenes import DataSet
from anyscene.data.splits import split_by_hash
from anyscene.errors import DataError

OPTIONS = ()

CLASSES = Classes(
    names=("sky", "tree", "road", "grass", "water", "building", "mountain", "foreground"),
    palette=np.array(
        [
            (128, 190, 240),
            (40, 110, 40),
            (128, 64, 128),
            (140, 210, 80),
            (40, 80, 200),
            (170, 70, 60),
            (150, 120, 90),
            (240, 190, 40),
        ],
        dtype=np.uint8,
    ),
)


def open_tree(root: Path) -> DataSet:
    """Open a Stanford Background tree; `val` is a fixed fifth, for there is no official one."""
    images, labels = root / "images", root / "labels"
    label_files = files_by_stem(labels, [".regions.txt"])
    if not images.is_dir() or not label_files:
        raise DataError(f"{root}: not Stanford Background; expected images/*.jpg and labels/*.regions.txt in it")
    pairs = Pairs(files_by_stem(images), label_files, read_regions)
    return DataSet(
        "stanford", CLASSES, split_by_hash(list(pairs.images)), pairs.image, pairs.truth, problems=pairs.strays()
    )


def read_regions(path: Path) -> NDArray[np.int16]:
    """Parse a text matrix of class ids, one line a row; any negative id is void."""
    text = path.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # numpy's word for "not a number"
        try:
            # Text mode of fromstring is the fastest parser at hand: all 572 files in about a second.
            ids = np.fromstring(text, dtype=np.int16, sep=" ")
        except (DeprecationWarning, ValueError):
            raise DataError(f"{path}: holds something other than whole numbers; unpack it again") from None
    rows = len(text.split(b"\n")) - text.endswith(b"\n")
    if ids.size == 0 or ids.size % rows:
        raise DataError(f"{path}: {ids.size} numbers in {rows} lines are not a matrix; unpack it again")
    if ids.max() >= len(CLASSES):
        raise DataError(f"{path}: holds class id {ids.max()}, but ids go from 0 to {len(CLASSES) - 1} (-1 is void)")
    return np.maximum(ids, VOID).reshape(rows, -1)
