"""Stanford Background: `images/*.jpg` with `labels/*.regions.txt`, text matrices of class ids."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyscene.data.classes import VOID, Classes
from anyscene.data.pairs import Pairs, find_files
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

IN_A_MATRIX = b"0123456789- \t\r\n"


def open_tree(root: Path) -> DataSet:
    """Open a Stanford Background tree; `val` is a fixed fifth, since there is no official one."""
    labels = find_files(root / "labels", [".regions.txt"])
    if not (root / "images").is_dir() or not labels:
        raise DataError(
            f"{root}: not Stanford Background; expected images/*.jpg and labels/*.regions.txt in it"
        )
    pairs = Pairs(find_files(root / "images"), labels, read_regions)
    splits = {**split_by_hash(list(pairs.images)), "all": list(pairs.images)}
    return DataSet("stanford", CLASSES, splits, pairs.image, pairs.truth, problems=pairs.strays())


def read_regions(path: Path) -> NDArray[np.int16]:
    """Parse a text matrix of class ids, one line a row, -1 for void."""
    try:
        return _parsed(path, path.stat().st_mtime_ns).astype(np.int16)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the file") from None


# Parsing takes fifteen times as long as finding a label here; all 715 take 55 MB as bytes.
@lru_cache(maxsize=1000)
def _parsed(path: Path, changed: int) -> NDArray[np.int8]:
    """Parse the file as it was when it last changed."""
    text = path.read_bytes().strip()
    try:
        # The text mode of fromstring parses natively; what it cannot read to the end is a ValueError.
        ids = np.fromstring(text, dtype=np.int64, sep=" ")
        is_garbled = text.translate(None, IN_A_MATRIX) or text.count(b"-") != (ids < 0).sum()
    except ValueError:
        is_garbled = True
    if is_garbled:
        raise DataError(f"{path}: holds something other than whole numbers; unpack it again")
    rows = text.count(b"\n") + 1
    if ids.size == 0 or ids.size % rows:
        raise DataError(f"{path}: {ids.size} numbers in {rows} lines are no matrix; unpack it again")
    if ids.min() < VOID or ids.max() >= len(CLASSES):
        wrong = ids.min() if ids.min() < VOID else ids.max()
        raise DataError(
            f"{path}: holds class id {wrong}, but ids go from -1 (void) to {len(CLASSES) - 1}; "
            "unpack it again"
        )
    return ids.astype(np.int8).reshape(rows, -1)
