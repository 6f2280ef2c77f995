"""CamVid as first published: 701 images of 960x720 whose labels are pictures in 32 colours.

`701_StillsRaw_full/NAME.png` with `LabeledApproved_full/NAME_L.png`; the 32 labels become the 11 usual
classes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyscene.data.classes import VOID
from anyscene.data.images import read_image
from anyscene.data.pairs import Pairs, find_files
from anyscene.data.palettes import pack_colors
from anyscene.data.splits import read_ids
from anyscene.errors import DataError

IMAGES = "701_StillsRaw_full"
LABELS = "LabeledApproved_full"
COLORS = "label_colors.txt"
SPLITS = ("train", "val", "test")

LABELS_OF_CLASS = {
    "sky": ("Sky",),
    "building": ("Building", "Wall"),
    "pole": ("Column_Pole",),
    "road": ("Road", "LaneMkgsDriv", "LaneMkgsNonDriv", "RoadShoulder"),
    "pavement": ("Sidewalk", "ParkingBlock"),
    "tree": ("Tree", "VegetationMisc"),
    "sign": ("SignSymbol", "Misc_Text", "TrafficLight"),
    "fence": ("Fence",),
    "car": ("Car", "SUVPickupTruck", "Truck_Bus"),
    "pedestrian": ("Pedestrian",),
    "bicyclist": ("Bicyclist", "MotorcycleScooter"),
}
CLASS_NAMES = tuple(LABELS_OF_CLASS)

# The published label_colors.txt. A file of that name beside the data is used instead.
STANDARD_COLORS = """
64 128 64 Animal
192 0 128 Archway
0 128 192 Bicyclist
0 128 64 Bridge
128 0 0 Building
64 0 128 Car
64 0 192 CartLuggagePram
192 128 64 Child
192 192 128 Column_Pole
64 64 128 Fence
128 0 192 LaneMkgsDriv
192 0 64 LaneMkgsNonDriv
128 128 64 Misc_Text
192 0 192 MotorcycleScooter
128 64 64 OtherMoving
64 192 128 ParkingBlock
64 64 0 Pedestrian
128 64 128 Road
128 128 192 RoadShoulder
0 0 192 Sidewalk
192 128 128 SignSymbol
128 128 128 Sky
64 128 192 SUVPickupTruck
0 0 64 TrafficCone
0 64 64 TrafficLight
192 64 128 Train
128 128 0 Tree
192 128 192 Truck_Bus
64 0 64 Tunnel
192 192 0 VegetationMisc
0 0 0 Void
64 192 0 Wall
"""

MAX_OFF_PALETTE = 0.1
"""The most pixels of stray colours, which are void. A label with more of them has another format."""


def is_original(root: Path) -> bool:
    """Tell whether a folder holds the original layout."""
    return (root / IMAGES).is_dir() and (root / LABELS).is_dir()


def find_scenes(root: Path) -> tuple[Pairs, dict[str, list[str]], list[str]]:
    """Find the scenes of the original layout: their files, their splits, and notes about the splits.

    Splits are those of the lists train.txt, val.txt and test.txt when there are any, else the usual ones,
    which follow from the names.
    """
    images = find_files(root / IMAGES)
    labels = find_files(root / LABELS, ["_l.png"])
    pairs = Pairs(images, labels, ColorReader.for_tree(root).read)
    listed = {split: _names_in_list(path) for split in SPLITS if (path := root / f"{split}.txt").is_file()}
    if listed:
        absent = sum(id not in images for ids in listed.values() for id in ids)
        splits = {split: [id for id in ids if id in images] for split, ids in listed.items()}
        return pairs, splits, [f"{absent} images named in the split lists are not there"] if absent else []
    splits = {split: [id for id in images if usual_split(id) == split] for split in SPLITS}
    strangers = [id for id in images if usual_split(id) is None]
    note = (
        f"{len(strangers)} images do not have CamVid's names, such as {''.join(strangers[:1])}: in 'all' only"
    )
    return pairs, splits, [note] if strangers else []


def drive_and_frame(id: str) -> tuple[str, int]:
    """Take apart a CamVid name such as 0001TP_006690 or Seq05VD_f02610; other names give no drive."""
    match = re.fullmatch(r"(0001TP|0006R0|0016E5|Seq05VD)_f?(\d+)", id)
    return (match[1], int(match[2])) if match else ("", 0)


def usual_split(id: str) -> str | None:
    """The split that everyone since SegNet puts an image in; None if the name is not CamVid's."""
    drive, frame = drive_and_frame(id)
    if not drive:
        return None
    if drive == "Seq05VD" or (drive == "0001TP" and frame > 8520):
        return "test"
    # Of 0016E5 every thirtieth frame was labeled, and in this stretch every second one, for validation.
    if drive == "0016E5" and 7959 <= frame <= 8159 and frame % 2:
        return "val"
    return "train"


@dataclass(frozen=True)
class ColorReader:
    """Reads 32-colour labels as the 11 classes.

    colors: int32[colours], packed and sorted.
    classes: int16[colours], the class of each, or VOID.
    """

    colors: NDArray[np.int32]
    classes: NDArray[np.int16]

    @staticmethod
    def for_tree(root: Path) -> ColorReader:
        """Use the label_colors.txt of a tree, or the published colours."""
        own = next((path for path in (root / COLORS, root / LABELS / COLORS) if path.is_file()), None)
        text = own.read_text(encoding="utf-8") if own else STANDARD_COLORS
        class_of_label = {
            label: index for index, labels in enumerate(LABELS_OF_CLASS.values()) for label in labels
        }
        found = re.findall(r"^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\w+)\s*$", text, re.MULTILINE)
        missing = class_of_label.keys() - {label for *_, label in found}
        if missing:
            raise DataError(
                f"{own}: no colour for {', '.join(sorted(missing))}; expected lines such as '128 128 128 Sky'"
            )
        colors = pack_colors(np.array([color for *color, _ in found], np.int32))
        classes = np.array([class_of_label.get(label, VOID) for *_, label in found], np.int16)
        order = np.argsort(colors)
        return ColorReader(colors[order], classes[order])

    def read(self, path: Path) -> NDArray[np.int16]:
        """Read one label picture; a stray colour that is in no list is void."""
        colors = pack_colors(read_image(path))
        positions = np.minimum(np.searchsorted(self.colors, colors), len(self.colors) - 1)
        known = self.colors[positions] == colors
        if known.mean() < 1 - MAX_OFF_PALETTE:
            raise DataError(
                f"{path}: {1 - known.mean():.0%} of its pixels have colours that are not CamVid's; "
                "expected the published labels, as PNG"
            )
        return np.where(known, self.classes[positions], VOID).astype(np.int16)


def _names_in_list(path: Path) -> list[str]:
    # SegNet's lists name the image and its label, both with folders, on each line.
    return [Path(line.split()[0]).stem for line in read_ids(path)]
