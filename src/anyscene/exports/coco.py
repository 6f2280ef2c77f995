"""COCO's annotations: each class that is seen is one segment, in the stuff and in the panoptic form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.data.classes import Classes
from anyscene.data.runs import encode


@dataclass(frozen=True, eq=False)
class LabeledFile:
    """The labels int16[H, W] of one image file, as COCO names it."""

    file_name: str
    labels: NDArray[np.int16]


def segments(labels: NDArray[np.int16], classes: Classes) -> list[dict[str, Any]]:
    """The classes that are seen: name, category_id (class id + 1), area, bbox and run-length code of each."""
    found = []
    for index in np.unique(labels[labels >= 0]).tolist():
        mask = labels == index
        found.append(
            {
                "category_id": index + 1,
                "class": classes.names[index],
                "area": int(np.count_nonzero(mask)),
                "bbox": bounding_box(mask),
                "segmentation": encode(mask),
            }
        )
    return found


def bounding_box(mask: NDArray[np.bool_]) -> list[int]:
    """COCO's [left, top, width, height] of a mask that is not empty."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    left, top = int(columns[0]), int(rows[0])
    return [left, top, int(columns[-1]) + 1 - left, int(rows[-1]) + 1 - top]


def categories(classes: Classes) -> list[dict[str, Any]]:
    """The classes as COCO lists them. Ids begin with 1, for 0 means nothing to many tools."""
    return [
        {"id": index + 1, "name": name, "supercategory": "", "isthing": 0, "color": color}
        for index, (name, color) in enumerate(zip(classes.names, classes.palette.tolist(), strict=True))
    ]


def coco_document(files: Iterable[LabeledFile], classes: Classes) -> dict[str, Any]:
    """A COCO document of many images; pycocotools and whatever is built on it read it."""
    images: list[Any] = []
    marks: list[Any] = []
    for number, file in enumerate(files, 1):
        images.append(_image(number, file))
        for segment in segments(file.labels, classes):
            segment.pop("class")
            marks.append({"id": len(marks) + 1, "image_id": number, "iscrowd": 0, **segment})
    return {"images": images, "annotations": marks, "categories": categories(classes)}


def panoptic_document(files: Iterable[LabeledFile], classes: Classes) -> tuple[dict[str, Any], Iterator[Any]]:
    """A panoptic COCO document, and the pictures that it names: pairs of file name and uint8[H, W, 3]."""
    images, marks, pictures = [], [], []
    for number, file in enumerate(files, 1):
        images.append(_image(number, file))
        name = Path(file.file_name).with_suffix(".png").as_posix()
        infos = [
            {key: segment[key] for key in ("category_id", "area", "bbox")}
            | {"id": segment["category_id"], "iscrowd": 0}
            for segment in segments(file.labels, classes)
        ]
        marks.append({"image_id": number, "file_name": name, "segments_info": infos})
        pictures.append((name, panoptic_picture(file.labels)))
    document = {"images": images, "annotations": marks, "categories": categories(classes)}
    return document, iter(pictures)


def panoptic_picture(labels: NDArray[np.int16]) -> NDArray[np.uint8]:
    """Segment ids as colours, red + 256 green + 256² blue; an id is the category's, 0 where unknown."""
    ids = (labels.astype(np.int32) + 1).clip(0)
    return np.stack([ids & 255, ids >> 8 & 255, ids >> 16 & 255], axis=2).astype(np.uint8)


def _image(number: int, file: LabeledFile) -> Mapping[str, Any]:
    height, width = file.labels.shape
    return {"id": number, "file_name": file.file_name, "width": width, "height": height}
