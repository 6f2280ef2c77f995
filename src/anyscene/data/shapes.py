"""Truth drawn from shapes: polygons, boxes and masks, as annotation tools keep them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.data.classes import VOID, Classes
from anyscene.data.images import read_image, read_size
from anyscene.data.scenes import DataSet
from anyscene.data.splits import split_by_hash
from anyscene.errors import DataError

SUBPIXEL_BITS = 4
"""Corners of polygons are rounded to a sixteenth of a pixel."""

FARTHEST = 2**20
"""Corners are held within so many pixels of the image; OpenCV's own arithmetic ends soon after."""


@dataclass(frozen=True, eq=False)
class Shape:
    """A part of an image that has a class.

    rings : lines float64[points, 2], (x, y), of which an outer one and its holes are filled alternately.
    mask : bool[h, w] instead, whose corner lies at `corner`, (x, y).
    """

    label: int
    rings: tuple[NDArray[np.float64], ...] = ()
    mask: NDArray[np.bool_] | None = None
    corner: tuple[int, int] = (0, 0)


@dataclass(frozen=True, eq=False)
class Annotated:
    """An image file and the shapes on it, those on top last. source : the file that says so."""

    image: Path
    source: Path
    shapes: Sequence[Shape]


def draw_shapes(shapes: Sequence[Shape], height: int, width: int) -> NDArray[np.int16]:
    """Truth int16[H, W]; VOID where no shape is."""
    truth = np.full((height, width), VOID, np.int16)
    for shape in shapes:
        if shape.mask is not None:
            _stamp(truth, shape.mask, shape.corner, shape.label)
        elif shape.rings:
            # Pixel k reaches from k to k + 1, and OpenCV means its centre.
            scaled = [
                np.rint((np.clip(ring, -FARTHEST, FARTHEST) - 0.5) * 2**SUBPIXEL_BITS).astype(np.int32)
                for ring in shape.rings
            ]
            cv2.fillPoly(truth, scaled, int(shape.label), shift=SUBPIXEL_BITS)
    return truth


def _stamp(truth: NDArray[np.int16], mask: NDArray[np.bool_], corner: tuple[int, int], label: int) -> None:
    left, top = corner
    seen = mask[max(0, -top) :, max(0, -left) :]
    place = truth[max(0, top) :, max(0, left) :][: seen.shape[0], : seen.shape[1]]
    place[seen[: place.shape[0], : place.shape[1]]] = label


def box(left: float, top: float, right: float, bottom: float) -> NDArray[np.float64]:
    """A box as a ring."""
    return np.array([(left, top), (right, top), (right, bottom), (left, bottom)], np.float64)


def open_annotated(
    name: str,
    classes: Classes,
    scenes: Mapping[str, Annotated],
    problems: Sequence[str] = (),
    load: Callable[[str], Annotated] | None = None,
) -> DataSet:
    """A data set of annotated images; those without any shape have no truth. load : reads shapes late."""
    get = load or scenes.__getitem__

    def image(id: str) -> NDArray[np.uint8]:
        return read_image(get(id).image)

    def truth(id: str) -> NDArray[np.int16] | None:
        scene = get(id)
        if not scene.shapes:
            return None
        width, height = read_size(scene.image)
        return draw_shapes(scene.shapes, height, width)

    return DataSet(name, classes, split_by_hash(list(scenes)), image, truth, problems=problems)


def find_image(name: str, folders: Sequence[Path], source: Path) -> Path:
    """The image that an annotation file names, looked for in some folders, also under its bare name."""
    for folder in folders:
        for candidate in (folder / name, folder / Path(name.replace("\\", "/")).name):
            if candidate.is_file():
                return candidate
    places = ", ".join(str(folder) for folder in folders)
    raise DataError(f"{source}: names the image '{name}', which is not in {places}; put it there")
