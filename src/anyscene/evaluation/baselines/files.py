"""Saving and loading fitted baselines: named arrays in one safetensors file, no pickle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from anyscene.errors import ModelError
from anyscene.evaluation.baselines.dcrf import RegionCrfLabeler
from anyscene.evaluation.baselines.feature_selection import FeatureSelection
from anyscene.evaluation.baselines.hdcrf import PixelCrfLabeler
from anyscene.evaluation.baselines.inference_machine import InferenceMachine
from anyscene.evaluation.baselines.labeler import Labeler
from anyscene.files import write_atomically

BASELINES: dict[str, type[Labeler]] = {
    cls.name: cls for cls in (FeatureSelection, RegionCrfLabeler, InferenceMachine, PixelCrfLabeler)
}
"""By the paper's names."""


def save_labeler(labeler: Labeler, path: str | Path) -> None:
    """Write a fitted baseline."""
    arrays = {name: np.ascontiguousarray(array) for name, array in labeler.arrays().items()}
    with write_atomically(path) as file:
        file.write(save(arrays, metadata={"baseline": labeler.name}))


def load_labeler(path: str | Path) -> Labeler:
    """Read a baseline that `save_labeler` wrote."""
    try:
        with safe_open(path, framework="numpy") as file:
            name = (file.metadata() or {}).get("baseline", "")
            arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - not a dict
    except (OSError, SafetensorError) as error:
        raise ModelError(f"cannot read the baseline {path}: {error}; fit it again") from error
    if name not in BASELINES:
        raise ModelError(f"{path} holds no baseline but '{name}'; there are {', '.join(BASELINES)}")
    try:
        return BASELINES[name].from_arrays(arrays)
    except KeyError as error:
        raise ModelError(f"{path} is of another version: array {error} is missing; fit it again") from error
