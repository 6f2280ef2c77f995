"""COCO annotations: a JSON file with polygons or run-length codes, and its images.

coco:FILE.json, or coco:FOLDER that holds one such file, in it or in annotations/. Images are looked for where
`images=FOLDER` says, beside the file, and in images/ beside it or above. Small segments lie on top of large
ones; pixels without a segment are unknown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from anyscene.data import runs
from anyscene.data.classes import Classes
from anyscene.data.palettes import distinct_colors
from anyscene.data.scenes import DataSet
from anyscene.data.shapes import Annotated, Shape, find_image, open_annotated
from anyscene.errors import DataError

OPTIONS = ("images",)
TAKES_FILES = True


def open_tree(root: Path, images: str | None = None) -> DataSet:
    """Open a COCO file, or the folder that holds it."""
    path = _file(root)
    document = read_json(path)
    try:
        categories = sorted(document["categories"], key=lambda one: one["id"])
        classes = _classes(categories)
        index = {one["id"]: number for number, one in enumerate(categories)}
        marks: dict[Any, list[Mapping[str, Any]]] = {}
        for mark in document["annotations"]:
            marks.setdefault(mark["image_id"], []).append(mark)
        named = {one["id"]: str(one["file_name"]) for one in document["images"]}
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path}: not a COCO file: {error} is missing; it needs images, annotations and categories"
        ) from None
    folders = [path.parent, path.parent / "images", path.parent.parent / "images", path.parent.parent]
    if images:
        folders.insert(0, Path(images).expanduser())
    scenes, problems = {}, []
    for id, name in named.items():
        try:
            image = find_image(name, folders, path)
        except DataError as error:
            problems.append(str(error))
            continue
        own = sorted(marks.get(id, []), key=lambda one: -float(one.get("area") or 0))
        # Shapes are read when a scene is asked for: a large file holds more codes than memory does masks.
        scenes[Path(name).with_suffix("").as_posix()] = (image, own)
    unread = sum(not mark.get("segmentation") for own in marks.values() for mark in own)
    if unread:
        problems.append(f"{path}: {unread} annotations have a box but no segmentation; outline them")

    def load(id: str) -> Annotated:
        image, own = scenes[id]
        return Annotated(image, path, [s for mark in own for s in _shapes(mark, index, path)])

    known = {id: Annotated(image, path, ()) for id, (image, _) in scenes.items()}
    if not known:
        raise DataError(problems[0] if problems else f"{path}: names no images; export it again with images")
    return open_annotated(f"coco {path}", classes, known, problems, load)


def read_json(path: Path) -> Any:
    """Read a JSON file; what is wrong with it is one sentence."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON ({error}); export it again") from None


def _file(root: Path) -> Path:
    if root.is_file():
        return root
    found = sorted([*root.glob("*.json"), *root.glob("annotations/*.json")])
    if len(found) != 1:
        several = f"{len(found)} of them, name one: {', '.join(map(str, found[:4]))}" if found else "none"
        raise DataError(f"{root}: expected one COCO file (.json) in it or in annotations/, found {several}")
    return found[0]


def _classes(categories: list[Mapping[str, Any]]) -> Classes:
    colors = [one.get("color") for one in categories]
    palette = (
        np.array(colors, np.uint8).reshape(-1, 3)
        if all(isinstance(color, list) and len(color) == 3 for color in colors)
        else distinct_colors(len(categories))
    )
    return Classes(tuple(str(one["name"]) for one in categories), palette)


def _shapes(mark: Mapping[str, Any], index: Mapping[Any, int], path: Path) -> list[Shape]:
    segmentation = mark.get("segmentation")
    if not segmentation:
        return []
    try:
        label = index[mark["category_id"]]
        if isinstance(segmentation, dict):
            return [Shape(label, mask=runs.decode(segmentation))]
        # Each polygon is a part of its own; COCO's polygons have no holes.
        return [Shape(label, (np.array(part, np.float64).reshape(-1, 2),)) for part in segmentation]
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(f"{path}: annotation {mark.get('id')} cannot be read ({error}); correct it") from None
