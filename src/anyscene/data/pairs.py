"""Image files and the label files that belong to them, paired by id."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyscene.data.images import IMAGE_SUFFIXES, read_image
from anyscene.errors import DataError

ReadLabel = Callable[[Path], NDArray[np.int16]]


@dataclass(frozen=True)
class Pairs:
    """The files of a data set and how to read them.

    images, labels: the file of each id; an image may lack a label, a label may lack an image.
    read_label: from a label file to int16[H, W] truth.
    labeled: False when there is no label folder at all, so that truth is None instead of missing.
    """

    images: dict[str, Path]
    labels: dict[str, Path]
    read_label: ReadLabel
    labeled: bool = True

    def image(self, id: str) -> NDArray[np.uint8]:
        """Read the image of a scene, uint8[H, W, 3]."""
        return read_image(self.images[id])

    def truth(self, id: str) -> NDArray[np.int16] | None:
        """Read the truth of a scene, int16[H, W]; a label file that is missing is an error."""
        if id in self.labels:
            return self.read_label(self.labels[id])
        if self.labeled:
            raise DataError(f"{self.images[id]}: its label file is missing; add the label or remove the image")
        return None

    def strays(self) -> list[str]:
        """Say which labels have no image."""
        return [
            f"{self.labels[id]}: there is no image that belongs to this label; add the image or remove the label"
            for id in sorted(self.labels.keys() - self.images.keys())
        ]


def files_by_stem(folder: Path, suffixes: Iterable[str] = IMAGE_SUFFIXES) -> dict[str, Path]:
    """Find files below a folder: relative path without suffix -> path, sorted. Hidden files do not count."""
    endings = tuple(suffixes)
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        ending = next((ending for ending in endings if path.name.lower().endswith(ending)), None)
        if ending is None or path.name.startswith(".") or not path.is_file():
            continue
        id = path.relative_to(folder).as_posix()[: -len(ending)]
        if id in found:
            raise DataError(f"{found[id]} and {path} would be the same scene; remove or rename one of them")
        found[id] = path
    return found
