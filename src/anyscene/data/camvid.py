"""CamVid in the layout that SegNet users know: `train/` with `trainannot/`, also `val` and `test`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyscene.data.classes import VOID, Classes
from anyscene.data.images import read_label
from anyscene.data.pairs import Pairs, files_by_stem
from anyscene.data.scenes import DataSet
from anyscene.errors import DataError

OPTIONS = ()

CLASSES = Classes(
    names=(
        "sky", "building", "pole", "road", "pavement", "tree", "sign", "fence", "car", "pedestrian", "bicyclist"
    ),
    palette=np.array(
        [
            (128, 128, 128),
            (128, 0, 0),
            (192, 192, 128),
            (128, 64, 128),
            (60, 40, 222),
            (128, 128, 0),
            (192, 128, 128),
            (64, 64, 128),
            (64, 0, 128),
            (64, 64, 0),
            (0, 128, 192),
        ],
        dtype=np.uint8,
    ),
)  # fmt: skip

VOID_IN_FILES = len(CLASSES)


def open_tree(root: Path) -> DataSet:
    """Open a CamVid tree with whichever of train, val and test it holds."""
    present = [split for split in ("train", "val", "test") if (root / split).is_dir()]
    if not present:
        raise DataError(f"{root}: not CamVid; expected train/ and trainannot/ (or val, or test) in it")
    images: dict[str, Path] = {}
    labels: dict[str, Path] = {}
    splits: dict[str, list[str]] = {}
    for split in present:
        found = files_by_stem(root / split)
        splits[split] = list(found)
        images |= found
        labels |= files_by_stem(root / f"{split}annot")
    pairs = Pairs(images, labels, read_ids)
    splits |= halves_by_drive(splits.get("train", []))
    return DataSet("camvid", CLASSES, splits, pairs.image, pairs.truth, problems=pairs.strays())


def read_ids(path: Path) -> NDArray[np.int16]:
    """Read a label picture of class ids, where 11 is void."""
    ids = read_label(path)
    if ids.ndim != 2:
        raise DataError(f"{path}: a colour picture, but this layout has pictures of class ids 0 to {VOID_IN_FILES}")
    if ids.max() > VOID_IN_FILES:
        raise DataError(f"{path}: holds class id {ids.max()}, but ids go from 0 to {VOID_IN_FILES} (void)")
    return np.where(ids == VOID_IN_FILES, VOID, ids).astype(np.int16)


LAST_FRAME_OF_A = 5280


def halves_by_drive(train: Iterable[str]) -> dict[str, list[str]]:
    """Cut the training images into cross-fit halves that share no stretch of road.

    CamVid is video, so random halves would leak: `a` is drive 0001TP and 0016E5 up to frame 5280, `b` is 0006R0
    and the rest of 0016E5.
    """
    halves: dict[str, list[str]] = {"a": [], "b": []}
    for id in train:
        drive, frame = drive_and_frame(id)
        first = drive == "0001TP" or (drive == "0016E5" and frame <= LAST_FRAME_OF_A)
        halves["a" if first else "b"].append(id)
    return halves


def drive_and_frame(id: str) -> tuple[str, int]:
    """Take apart a CamVid name such as 0001TP_006690 or Seq05VD_f02610."""
    match = re.fullmatch(r"(\w+?)_f?(\d+)", id)
    if match is None:
        raise DataError(f"'{id}' is no CamVid name; expected DRIVE_FRAME, such as 0001TP_006690")
    return match[1], int(match[2])
