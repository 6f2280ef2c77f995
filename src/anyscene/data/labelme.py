"""Labelme: a folder of images, each with a JSON file of shapes beside it.

Classes are the labels that occur, in alphabetical order, or the lines of a `labels.txt` (lines that begin
with __ do not count). Later shapes lie on top; pixels without a shape are unknown.
"""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from anyscene.data.classes import Classes
from anyscene.data.coco import read_json
from anyscene.data.palettes import distinct_colors
from anyscene.data.scenes import DataSet
from anyscene.data.shapes import Annotated, Shape, box, find_image, open_annotated
from anyscene.errors import DataError

OPTIONS = ()

CIRCLE_CORNERS = 64


def open_tree(root: Path) -> DataSet:
    """Open a folder of Labelme files."""
    documents = {path: read_json(path) for path in sorted(root.rglob("*.json"))}
    documents = {path: one for path, one in documents.items() if isinstance(one, dict) and "shapes" in one}
    if not documents:
        raise DataError(f"{root}: holds no Labelme files; expected .json files with shapes beside the images")
    try:
        names = _names(root, documents)
        scenes, problems = {}, []
        for path, document in documents.items():
            try:
                image = find_image(str(document.get("imagePath") or path.name), [path.parent, root], path)
            except DataError as error:
                problems.append(str(error))
                continue
            shapes = [s for one in document["shapes"] for s in _shape(one, names, path)]
            scenes[path.relative_to(root).with_suffix("").as_posix()] = Annotated(image, path, shapes)
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise DataError(f"{root}: a Labelme file there cannot be read ({error}); save it again") from None
    if not scenes:
        raise DataError(problems[0])
    return open_annotated(f"labelme {root}", Classes(names, distinct_colors(len(names))), scenes, problems)


def _names(root: Path, documents: Mapping[Path, Any]) -> tuple[str, ...]:
    listed = root / "labels.txt"
    if listed.is_file():
        lines = (line.strip() for line in listed.read_text(encoding="utf-8-sig").splitlines())
        return tuple(line for line in lines if line and not line.startswith("__"))
    return tuple(sorted({str(one["label"]) for document in documents.values() for one in document["shapes"]}))


def _shape(one: Mapping[str, Any], names: tuple[str, ...], path: Path) -> list[Shape]:
    name, kind = str(one["label"]), str(one.get("shape_type") or "polygon")
    if name not in names:
        raise DataError(f"{path}: has the label '{name}', which is not in labels.txt; add it there")
    label = names.index(name)
    points = np.array(one["points"], np.float64).reshape(-1, 2)
    if kind == "polygon":
        return [Shape(label, (points,))]
    if kind == "rectangle":
        return [Shape(label, (box(*points.min(axis=0), *points.max(axis=0)),))]
    if kind == "circle":
        angles = np.linspace(0, 2 * np.pi, CIRCLE_CORNERS, endpoint=False)
        radius = float(np.hypot(*(points[1] - points[0])))
        return [Shape(label, (points[0] + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1),))]
    if kind == "mask":
        picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(one["mask"])), formats=["PNG"])) > 0
        left, top = np.rint(points[0]).astype(int).tolist()
        return [Shape(label, mask=picture, corner=(left, top))]
    return []  # points and lines have no area
