"""Cityscapes: leftImg8bit/SPLIT/CITY/*.png with gtFine/SPLIT/CITY/*_labelIds.png; its 19 classes for scoring.

Halves of `train` are made of whole cities. The labels of `test` are not published: those scenes have none.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyscene.data.classes import VOID, Classes
from anyscene.data.images import read_label
from anyscene.data.pairs import Pairs, find_files
from anyscene.data.scenes import DataSet
from anyscene.data.splits import in_first_half
from anyscene.errors import DataError

OPTIONS = ()

IMAGES, LABELS = "leftImg8bit", "gtFine"
IMAGE_END, LABEL_END = "_leftimg8bit.png", "_gtfine_labelids.png"  # names are compared in lower case
SPLITS = ("train", "val", "test")

_TABLE = (
    ("road", 7, (128, 64, 128)),
    ("sidewalk", 8, (244, 35, 232)),
    ("building", 11, (70, 70, 70)),
    ("wall", 12, (102, 102, 156)),
    ("fence", 13, (190, 153, 153)),
    ("pole", 17, (153, 153, 153)),
    ("traffic light", 19, (250, 170, 30)),
    ("traffic sign", 20, (220, 220, 0)),
    ("vegetation", 21, (107, 142, 35)),
    ("terrain", 22, (152, 251, 152)),
    ("sky", 23, (70, 130, 180)),
    ("person", 24, (220, 20, 60)),
    ("rider", 25, (255, 0, 0)),
    ("car", 26, (0, 0, 142)),
    ("truck", 27, (0, 0, 70)),
    ("bus", 28, (0, 60, 100)),
    ("train", 31, (0, 80, 100)),
    ("motorcycle", 32, (0, 0, 230)),
    ("bicycle", 33, (119, 11, 32)),
)
CLASSES = Classes(tuple(name for name, _, _ in _TABLE), np.array([color for _, _, color in _TABLE], np.uint8))
CLASS_OF_ID = np.full(256, VOID, np.int16)
CLASS_OF_ID[[id for _, id, _ in _TABLE]] = np.arange(len(_TABLE))


def open_tree(root: Path) -> DataSet:
    """Open Cityscapes as it is unpacked."""
    images = find_files(root / IMAGES, [IMAGE_END])
    if not images:
        raise DataError(f"{root}: not Cityscapes; expected {IMAGES}/SPLIT/CITY/*_leftImg8bit.png in it")
    splits = {split: [id for id in images if id.startswith(f"{split}/")] for split in SPLITS}
    cities = {id: id.split("/")[1] for id in splits["train"] if id.count("/") >= 2}
    splits["a"] = [id for id in splits["train"] if in_first_half(cities.get(id, id))]
    splits["b"] = [id for id in splits["train"] if not in_first_half(cities.get(id, id))]
    pairs = Pairs(images, find_files(root / LABELS, [LABEL_END]), _read, frozenset(splits["test"]))
    return DataSet("cityscapes", CLASSES, splits, pairs.image, pairs.truth, problems=pairs.strays())


def _read(path: Path) -> NDArray[np.int16]:
    ids = read_label(path)
    if ids.ndim != 2 or ids.max(initial=0) > 255 or ids.min(initial=0) < 0:
        raise DataError(f"{path}: not a picture of label ids; it needs grey values from 0 to 33")
    return CLASS_OF_ID.take(ids)
