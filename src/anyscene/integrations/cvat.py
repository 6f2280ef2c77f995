"""A CVAT auto-annotation function: a mask for each class that is seen. Needs cvat-sdk; cvat-cli runs it:

    cvat-cli task auto-annotate TASK --function-module anyscene.integrations.cvat -p model=str:camvid

A task gets the masks of the classes that its labels are named for; --allow-unmatched-labels if it lacks some.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from anyscene.engine import Engine, load
from anyscene.errors import ConfigError
from anyscene.exports.coco import bounding_box

if TYPE_CHECKING:
    from PIL import Image


def create(model: str = "", budget: str = "") -> MaskFunction:
    """What cvat-cli calls. model : name or file, the default one if empty. budget : such as 50ms, or none."""
    return MaskFunction(load(model or None), budget or None)


class MaskFunction:
    """Gives CVAT the labels of an image, by its interface `cvat_sdk.auto_annotation.DetectionFunction`."""

    def __init__(self, engine: Engine, budget: str | None) -> None:
        try:
            from cvat_sdk import auto_annotation, masks
        except ImportError:
            raise ConfigError("this needs cvat-sdk, which is not installed; pip install cvat-sdk") from None
        self._engine, self._budget = engine, budget
        self._cvat, self._encode = auto_annotation, masks.encode_mask
        self.spec = auto_annotation.DetectionFunctionSpec(
            labels=[
                auto_annotation.label_spec(name, index, type="mask")
                for index, name in enumerate(engine.classes.names)
            ]
        )

    def detect(self, context: object, image: Image.Image) -> Sequence[Any]:
        """Label one image of a task."""
        labels = self._engine.label(image, self._budget).labels
        found = []
        for index in np.unique(labels[labels >= 0]).tolist():
            mask = labels == index
            left, top, width, height = bounding_box(mask)
            code = self._encode(mask, [left, top, left + width, top + height])
            found.append(self._cvat.mask(index, code))
        return found
