"""Label Studio: labels as brush predictions, to be imported with tasks or given by an ML backend.

A project needs a labeling interface with <BrushLabels> whose values are names of the model's classes:

    <View><Image name="image" value="$image"/><BrushLabels name="tag" toName="image">…</BrushLabels></View>

A backend is a class of label-studio-ml whose `predict` returns `[prediction(engine.label(path)) for …]`.
Needs label-studio-sdk for its run-length codes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anyscene.errors import ConfigError
from anyscene.labeling import Labeling


def prediction(
    labeling: Labeling, model_version: str = "anyscene", from_name: str = "tag", to_name: str = "image"
) -> dict[str, Any]:
    """A prediction for one task: a brush region for each class that is seen.

    from_name, to_name : what the interface calls its BrushLabels and its Image.
    """
    try:
        from label_studio_sdk.converter.brush import mask2rle
    except ImportError:
        raise ConfigError(
            "this needs label-studio-sdk, which is not installed; pip install label-studio-sdk"
        ) from None
    height, width = labeling.labels.shape
    sure = labeling.confidence
    regions = [
        {
            "from_name": from_name,
            "to_name": to_name,
            "type": "brushlabels",
            "original_width": width,
            "original_height": height,
            "image_rotation": 0,
            "value": {
                "format": "rle",
                "rle": mask2rle(np.where(mask, 255, 0).astype(np.uint8)),
                "brushlabels": [name],
            },
            **({"score": float(sure[mask].mean())} if sure is not None else {}),
        }
        for name, mask in labeling.masks().items()
    ]
    score = {} if labeling.mean_confidence is None else {"score": labeling.mean_confidence}
    return {"model_version": model_version, "result": regions, **score}


def task(labeling: Labeling, image_url: str) -> dict[str, Any]:
    """A task to import: its image, which Label Studio must be able to open, and the prediction."""
    return {"data": {"image": image_url}, "predictions": [prediction(labeling)]}
