"""Image files and the label files that belong to them, paired by id."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyscene.data.images import IMAGE_SUFFIXES, read_image, read_size
from anyscene.errors import DataError

ReadLabel = Callable[[Path], NDArray[np.int16]]


@dataclass(frozen=True)
class Pairs:
    """The files of a data set and how to read them.

    images, labels: the file of each id; an image may lack a label, a label may lack an image.
    read_label: from a label file to int16[H, W] truth.
    unlabeled: ids that need no label; their truth is None. All others must have one.
    """

    images: dict[str, Path]
    labels: dict[str, Path]
    read_label: ReadLabel
    unlabeled: frozenset[str] = frozenset()

    def image(self, id: str) -> NDArray[np.uint8]:
        """Read the image of a scene, uint8[H, W, 3]."""
        return read_image(self.images[id])

    def truth(self, id: str) -> NDArray[np.int16] | None:
        """Read the truth of a scene, int16[H, W]; it must be there and have the size of the image."""
        if id in self.unlabeled:
            return None
        if id not in self.labels:
            raise DataError(
                f"{self.images[id]}: its label file is missing; add the label or remove the image"
            )
        truth = self.read_label(self.labels[id])
        height, width = truth.shape
        stored = read_size(self.images[id])
        # EXIF may turn an image, which shows only when it is decoded.
        expected = stored if stored == (width, height) else self.image(id).shape[1::-1]
        if (width, height) != expected:
            raise DataError(
                f"{self.labels[id]}: the label is {width}x{height} but its image {self.images[id]} is "
                f"{expected[0]}x{expected[1]}; both must have the same size"
            )
        return truth

    def strays(self) -> list[str]:
        """Say which labels have no image."""
        return [
            f"{self.labels[id]}: no image belongs to this label; add the image or remove the label"
            for id in sorted(self.labels.keys() - self.images.keys())
        ]


def find_files(folder: Path, suffixes: Iterable[str] = IMAGE_SUFFIXES) -> dict[str, Path]:
    """Find the files below a folder by their path within it, without suffix; sorted, hidden ones left out."""
    endings = tuple(suffixes)
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        within = path.relative_to(folder)
        ending = next((ending for ending in endings if path.name.lower().endswith(ending)), None)
        if ending is None or any(part.startswith(".") for part in within.parts) or not path.is_file():
            continue
        id = within.as_posix()[: -len(ending)]
        if id in found:
            raise DataError(f"{found[id]} and {path} would be the same scene; remove or rename one of them")
        found[id] = path
    return found
