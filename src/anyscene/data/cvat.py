"""CVAT's export "CVAT for images 1.1": annotations.xml, and the images in images/ or beside it.

Shapes lie on top of each other by z_order; pixels without a shape are unknown.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyscene.data.classes import Classes
from anyscene.data.palettes import distinct_colors
from anyscene.data.scenes import DataSet
from anyscene.data.shapes import Annotated, Shape, box, find_image, open_annotated
from anyscene.errors import DataError

OPTIONS = ()
TAKES_FILES = True


def open_tree(root: Path) -> DataSet:
    """Open an export of CVAT: its folder, or the XML file."""
    path = root / "annotations.xml" if root.is_dir() else root
    tree = _parse(path)
    try:
        labels = [_text(one.find("name")) for one in tree.iterfind(".//meta//labels/label")]
        colors = [one.findtext("color") or "" for one in tree.iterfind(".//meta//labels/label")]
        named = [one.get("label", "") for image in tree.iterfind("image") for one in image]
        names = tuple(dict.fromkeys([*labels, *(name for name in named if name)]))
        if not names:
            raise DataError(f"{path}: holds no labels; export the task as 'CVAT for images 1.1'")
        scenes, problems = {}, []
        folders = [path.parent / "images", path.parent]
        for image in tree.iterfind("image"):
            name = image.get("name", "")
            try:
                file = find_image(name, folders, path)
            except DataError as error:
                problems.append(str(error))
                continue
            ordered = sorted(image, key=lambda one: int(one.get("z_order", "0")))
            shapes = [s for one in ordered for s in _shape(one, names)]
            scenes[Path(name).with_suffix("").as_posix()] = Annotated(file, path, shapes)
    except (ValueError, KeyError, AttributeError) as error:
        raise DataError(f"{path}: cannot be read ({error}); export it again") from None
    if not scenes:
        raise DataError(problems[0] if problems else f"{path}: names no images; export it with images")
    return open_annotated(f"cvat {path.parent}", Classes(names, _palette(names, colors)), scenes, problems)


def _parse(path: Path) -> ET.Element:
    try:
        text = path.read_bytes()
        if b"<!DOCTYPE" in text or b"<!ENTITY" in text:  # which may grow without end when it is read
            raise DataError(f"{path}: defines entities, which no export of CVAT does; it was not read")
        return ET.fromstring(text)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror}); expected an export as 'CVAT for images 1.1'"
        ) from None
    except ET.ParseError as error:
        raise DataError(f"{path}: not XML ({error}); export it again") from None


def _shape(one: ET.Element, names: Sequence[str]) -> list[Shape]:
    if one.get("label") not in names:
        return []
    label = names.index(one.get("label", ""))
    if one.tag == "polygon":
        points = [[float(part) for part in pair.split(",")] for pair in one.get("points", "").split(";")]
        return [Shape(label, (np.array(points, np.float64).reshape(-1, 2),))]
    if one.tag == "box":
        left, top, right, bottom = (float(one.get(side, "")) for side in ("xtl", "ytl", "xbr", "ybr"))
        return [Shape(label, (box(left, top, right, bottom),))]
    if one.tag == "mask":
        left, top, width, height = (int(one.get(name, "")) for name in ("left", "top", "width", "height"))
        counts = [int(part) for part in one.get("rle", "").split(",")]
        flat = np.repeat(np.arange(len(counts)) % 2 == 1, counts)
        return [Shape(label, mask=flat.reshape(height, width), corner=(left, top))]
    return []  # points and lines have no area


def _palette(names: Sequence[str], colors: Sequence[str]) -> NDArray[np.uint8]:
    written = [color.removeprefix("#") for color in colors]
    if len(written) == len(names) and all(len(color) == 6 for color in written):
        return np.array([list(bytes.fromhex(color)) for color in written], np.uint8)
    return distinct_colors(len(names))


def _text(element: ET.Element | None) -> str:
    return (element.text or "") if element is not None else ""
