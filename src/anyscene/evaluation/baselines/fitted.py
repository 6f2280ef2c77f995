"""The folder of fitted baselines: who may write into it, what it holds, and reading it to label images."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

import anyscene
from anyscene.data import DataSet
from anyscene.errors import ConfigError
from anyscene.evaluation.baselines.files import load_labeler
from anyscene.evaluation.baselines.labeler import Labeler
from anyscene.features import Bank, bank_from_arrays
from anyscene.features.hypercolumn.ladder import ladder
from anyscene.features.hypercolumn.network import Head, Network
from anyscene.features.hypercolumn.rung import Rung
from anyscene.features.sets import PAPER_SETS
from anyscene.files import write_atomically
from anyscene.marks import marked, refuse_foreign_folder

FULL_SIZE = Rung(1.0)
"""The one input size of the network that baselines look at."""

BANK, NETWORK, COSTS, ABOUT = "bank.safetensors", "network.onnx", "costs.json", "about.json"
HEAD = f"{NETWORK}.safetensors"

FILES = {"fsm": "F-SM", "dcrf": "DCRF", "him": "HIM", "hdcrf": "H-DCRF", "data-term": "DCRF"}
"""The file of each system, without its ending."""


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
    prefix = "whole/"
    try:
        arrays = load_file(folder / BANK)
        whole = {name.removeprefix(prefix): own for name, own in arrays.items() if name.startswith(prefix)}
        bank = dict(bank_from_arrays(PAPER_SETS, whole))
        if (folder / NETWORK).exists():
            parts = load_file(folder / HEAD)
            head = Head(parts["weight"], parts["bias"], classes)
            bank |= ladder(Network((folder / NETWORK).read_bytes()), head, (FULL_SIZE,))
    except (OSError, SafetensorError, KeyError) as error:
        raise ConfigError(f"{folder} holds no baselines that can be read ({error}); delete it") from error
    return bank


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
