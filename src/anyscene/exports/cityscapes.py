"""Cityscapes' ids for classes of the same meaning."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anyscene.data.classes import Classes

LABEL_IDS = {
    "ego vehicle": 1,
    "ground": 6,
    "road": 7,
    "sidewalk": 8,
    "parking": 9,
    "rail track": 10,
    "building": 11,
    "wall": 12,
    "fence": 13,
    "guard rail": 14,
    "bridge": 15,
    "tunnel": 16,
    "pole": 17,
    "polegroup": 18,
    "traffic light": 19,
    "traffic sign": 20,
    "vegetation": 21,
    "terrain": 22,
    "sky": 23,
    "person": 24,
    "rider": 25,
    "car": 26,
    "truck": 27,
    "bus": 28,
    "caravan": 29,
    "trailer": 30,
    "train": 31,
    "motorcycle": 32,
    "bicycle": 33,
}
"""Name -> `labelId`, as in cityscapesScripts."""

KIN = {
    "pavement": "sidewalk",
    "tree": "vegetation",
    "plant": "vegetation",
    "grass": "terrain",
    "field": "terrain",
    "mountain": "terrain",
    "sand": "terrain",
    "pedestrian": "person",
    "bicyclist": "rider",
    "sign": "traffic sign",
    "streetlight": "pole",
}
"""What other data sets call the same."""

UNLABELED = 0


def label_ids(labels: NDArray[np.int16], classes: Classes) -> NDArray[np.uint8]:
    """Labels int16[H, W] as Cityscapes' `labelIds`, uint8[H, W]; 0 for classes that it does not have."""
    table = [LABEL_IDS.get(KIN.get(_plain(name), _plain(name)), UNLABELED) for name in classes.names]
    return np.array([*table, UNLABELED], np.uint8).take(labels, axis=0)  # VOID is -1: the last


def _plain(name: str) -> str:
    return name.lower().replace("_", " ").replace("-", " ")
