"""CamVid: road scenes from four drives, in the layout that SegNet users know or in the original one.

SegNet layout: `train/` with `trainannot/`, likewise `val` and `test`; labels are pictures of class ids.
Original layout: see `camvid_original`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.data import camvid_original
from anyscene.data.camvid_original import SPLITS, drive_and_frame
from anyscene.data.classes import VOID, Classes
from anyscene.data.images import read_label
from anyscene.data.pairs import Pairs, find_files
from anyscene.data.scenes import DataSet
from anyscene.data.specs import parse_size
from anyscene.errors import DataError

OPTIONS = ("size",)

CLASSES = Classes(
    names=camvid_original.CLASS_NAMES,
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
)

VOID_IN_FILES = len(CLASSES)


def open_tree(root: Path, size: str | None = None) -> DataSet:
    """Open a CamVid tree of either layout, with whichever of train, val and test it holds.

    size: `WIDTHxHEIGHT` to scale every scene to, such as 480x360; as stored if not given.
    """
    notes: list[str] = []
    if camvid_original.is_original(root):
        pairs, splits, notes = camvid_original.find_scenes(root)
    elif any((root / split).is_dir() for split in SPLITS):
        pairs, splits = _find_scenes(root)
        notes = [
            f"{split}/ has no {split}annot/ beside it: its scenes have no truth"
            for split in splits
            if not (root / f"{split}annot").is_dir()
        ]
    else:
        raise DataError(
            f"{root}: not CamVid; expected train/ and trainannot/ (or val, or test), or "
            f"{camvid_original.IMAGES}/ and {camvid_original.LABELS}/ in it"
        )
    reader = pairs if size is None else Scaled(pairs, *parse_size(size))
    splits |= halves_by_drive(splits.get("train", []))
    splits["all"] = list(pairs.images)
    return DataSet(
        "camvid", CLASSES, splits, reader.image, reader.truth, notes=notes, problems=pairs.strays()
    )


def read_ids(path: Path) -> NDArray[np.int16]:
    """Read a label picture of class ids, where 11 is void."""
    ids = read_label(path)
    if ids.ndim != 2:
        raise DataError(
            f"{path}: a colour picture, but this layout has pictures of class ids 0 to {VOID_IN_FILES} (void)"
            "; unpack it again"
        )
    if ids.max() > VOID_IN_FILES:
        raise DataError(
            f"{path}: holds class id {ids.max()}, but ids go from 0 to {VOID_IN_FILES} (void); "
            "unpack it again"
        )
    return np.where(ids == VOID_IN_FILES, VOID, ids).astype(np.int16)


def halves_by_drive(train: Sequence[str]) -> dict[str, list[str]]:
    """Cut the training images into cross-fit halves `a` and `b` that share no stretch of road.

    CamVid is video, so random halves would leak: `a` is drive 0001TP, and 0016E5 up to frame 5280; `b` is
    0006R0, and the rest of 0016E5. Names that are not CamVid's give no halves.
    """
    halves: dict[str, list[str]] = {"a": [], "b": []}
    for id in train:
        drive, frame = drive_and_frame(id)
        if drive == "0001TP" or (drive == "0016E5" and frame <= 5280):
            halves["a"].append(id)
        elif drive in ("0006R0", "0016E5"):
            halves["b"].append(id)
        else:
            return {}
    return halves


@dataclass(frozen=True)
class Scaled:
    """Scenes brought to one size: images by area, labels by nearest pixel so that ids stay ids."""

    pairs: Pairs
    width: int
    height: int

    def image(self, id: str) -> NDArray[np.uint8]:
        """Read and scale the image of a scene, uint8[height, width, 3]."""
        image = self.pairs.image(id)
        scaled: NDArray[np.uint8] = cv2.resize(image, (self.width, self.height), interpolation=cv2.INTER_AREA)
        return scaled

    def truth(self, id: str) -> NDArray[np.int16] | None:
        """Read and scale the truth of a scene, int16[height, width]."""
        truth = self.pairs.truth(id)
        if truth is None:
            return None
        rows = ((np.arange(self.height) + 0.5) * truth.shape[0] / self.height).astype(int)
        columns = ((np.arange(self.width) + 0.5) * truth.shape[1] / self.width).astype(int)
        return truth[np.ix_(rows, columns)]


def _find_scenes(root: Path) -> tuple[Pairs, dict[str, list[str]]]:
    images: dict[str, Path] = {}
    labels: dict[str, Path] = {}
    splits: dict[str, list[str]] = {}
    unlabeled: set[str] = set()
    for split in SPLITS:
        found = find_files(root / split)
        for id in images.keys() & found.keys():
            raise DataError(
                f"{images[id]} and {found[id]} are the same scene; a scene belongs to one split only"
            )
        images |= found
        labels |= find_files(root / f"{split}annot")
        if found:
            splits[split] = list(found)
        if not (root / f"{split}annot").is_dir():
            unlabeled |= found.keys()
    return Pairs(images, labels, read_ids, frozenset(unlabeled)), splits
