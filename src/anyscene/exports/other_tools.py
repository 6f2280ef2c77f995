"""Labels as objects of other libraries, which are imported when they are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.data.classes import Classes
from anyscene.errors import ConfigError
from anyscene.exports.coco import bounding_box


def to_supervision(
    labels: NDArray[np.int16], classes: Classes, confidence: NDArray[np.float32] | None
) -> Any:
    """supervision.Detections with one row for each class that is seen: its mask, box and mean confidence."""
    try:
        from supervision import Detections
    except ImportError:
        raise _missing("supervision") from None
    seen = np.unique(labels[labels >= 0])
    masks = np.array([labels == index for index in seen], bool).reshape(-1, *labels.shape)
    boxes = [(left, top, left + wide, top + high) for left, top, wide, high in map(bounding_box, masks)]
    return Detections(
        xyxy=np.array(boxes, np.float32).reshape(-1, 4),
        mask=masks,
        class_id=seen.astype(int),
        confidence=(
            None if confidence is None else np.array([confidence[mask].mean() for mask in masks], np.float32)
        ),
        data={"class_name": np.array([classes.names[index] for index in seen], dtype=object)},
    )


def to_fiftyone(labels: NDArray[np.int16]) -> Any:
    """fiftyone.Segmentation, whose mask has class id + 1: FiftyOne takes 0 for background."""
    try:
        from fiftyone import Segmentation
    except ImportError:
        raise _missing("fiftyone") from None
    return Segmentation(mask=(labels + 1).astype(np.uint8))


def fiftyone_targets(classes: Classes) -> dict[int, str]:
    """What the values of such a mask mean, for a FiftyOne dataset's `default_mask_targets`."""
    return dict(enumerate(classes.names, 1))


def _missing(package: str) -> ConfigError:
    return ConfigError(f"this needs {package}, which is not installed; pip install {package}")
