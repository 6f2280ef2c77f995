"""The folder of fitted baselines: what it holds, who may write into it, and how it is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file

import anyscene
from anyscene.data import DataSet
from anyscene.errors import ConfigError, ModelError
from anyscene.evaluation.baselines.crf_labeler import PixelCrfLabeler, RegionCrfLabeler
from anyscene.evaluation.baselines.feature_selection import FeatureSelection
from anyscene.evaluation.baselines.inference_machine import InferenceMachine
from anyscene.evaluation.baselines.labeler import Labeler
from anyscene.features import Bank, bank_from_arrays
from anyscene.features.hypercolumn.ladder import ladder
from anyscene.features.hypercolumn.network import Network, head_from_arrays
from anyscene.features.hypercolumn.rung import Rung
from anyscene.features.sets import PAPER_SETS
from anyscene.files import write_atomically
from anyscene.marks import marked, refuse_foreign_folder
from anyscene.named_arrays import under, write_arrays

FULL_SIZE = Rung(1.0)
"""The one input size of the network that baselines look at."""

BANK, NETWORK, COSTS, ABOUT = "bank.safetensors", "network.onnx", "costs.json", "about.json"
HEAD = f"{NETWORK}.safetensors"

FILES = {"fsm": "F-SM", "dcrf": "DCRF", "him": "HIM", "hdcrf": "H-DCRF", "data-term": "DCRF"}
"""The file of each system, without its ending."""

BASELINES: dict[str, type[Labeler]] = {
    kind.name: kind for kind in (FeatureSelection, RegionCrfLabeler, InferenceMachine, PixelCrfLabeler)
}
"""By the paper's names."""


@dataclass(frozen=True, eq=False)
class FittedBaselines:
    """Baselines that are ready to label.

    costs : the milliseconds of each step of each system, by its key, on the scale of the model's costs.
    """

    bank: Bank
    labelers: Mapping[str, Labeler]
    costs: Mapping[str, tuple[float, ...]]

    @classmethod
    def load(cls, folder: Path, classes: int) -> FittedBaselines:
        """Read what `fit_baselines` left in a folder."""
        labelers = {
            key: load_labeler(labeler_file(folder, key))
            for key in FILES
            if labeler_file(folder, key).exists()
        }
        document = read_json(folder / COSTS)
        totals = {key: np.array(document["systems"][key]["total_ms"]) / document["pace"] for key in labelers}
        costs = {key: tuple(total.tolist()) for key, total in totals.items()}
        return cls(_load_bank(folder, classes), labelers, costs)

    @staticmethod
    def fingerprint(folder: Path, key: str) -> str:
        """A hash of a baseline's file and of the costs."""
        return _hash(labeler_file(folder, key).read_bytes() + (folder / COSTS).read_bytes())


def claim_folder(folder: Path, data: DataSet, backbone: Path | None) -> None:
    """Write down what baselines in the folder are fitted to; refuse one that holds others."""
    about = {
        "anyscene": anyscene.__version__,
        "data": data.name,
        "images": _hash("\n".join(data.split("train").ids).encode()),
        "backbone": _hash(backbone.read_bytes()) if backbone else "",
    }
    refuse_foreign_folder(folder, ABOUT)
    path = folder / ABOUT
    if not path.exists():
        write_json(path, marked(about))
        return
    found = read_json(path)
    if changed := [name for name, value in about.items() if found.get(name) != value]:
        raise ConfigError(
            f"{folder} holds baselines that were fitted with another '{changed[0]}'; "
            "delete it, or name another folder with --baselines"
        )


def labeler_file(folder: Path, key: str) -> Path:
    """Where the labeler of a system is kept."""
    return folder / f"{FILES[key]}.safetensors"


def save_labeler(labeler: Labeler, path: str | Path) -> None:
    """Write a fitted baseline."""
    write_arrays(path, labeler.arrays(), {"baseline": labeler.name})


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


def read_json(path: Path) -> Any:
    """Read one of the folder's documents."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read ({error}); delete its folder to fit anew") from error


def write_json(path: Path, document: Any) -> None:
    """Write one of the folder's documents."""
    with write_atomically(path) as file:
        file.write(json.dumps(document, indent=1).encode())


def _load_bank(folder: Path, classes: int) -> Bank:
    """The feature sets that describe new images."""
    try:
        bank = dict(bank_from_arrays(PAPER_SETS, under("whole", load_file(folder / BANK))))
        if (folder / NETWORK).exists():
            head, speaks = head_from_arrays(load_file(folder / HEAD), classes)
            bank |= ladder(Network((folder / NETWORK).read_bytes()), head, (FULL_SIZE,), speaks)
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise ConfigError(f"{folder} holds no baselines that can be read ({error}); delete it") from error
    return bank


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
