"""Where the calibration of this machine is kept, and what it holds for."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path

import anyscene
from anyscene.costs.steps import SCHEMA, CostModel
from anyscene.features.sets import Bank
from anyscene.files import cache_dir, write_atomically
from anyscene.machine import processor_name
from anyscene.marks import CHECKSUM, checksum_of, sealed


def calibration_key(bank: Bank) -> str:
    """What a calibration holds for: the machine, the versions of what runs on it, the sets' sizes."""
    packages = {name: version(name) for name in ("numpy", "numba", "onnxruntime", "scikit-learn")}
    sets = {
        name: (
            chosen.version,
            chosen.dimensions,
            {key: array.shape for key, array in chosen.arrays().items()},
        )
        for name, chosen in bank.items()
    }
    facts = (
        SCHEMA,
        platform.machine(),
        processor_name(),
        os.cpu_count(),
        anyscene.__version__,
        packages,
        sets,
    )
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def calibration_path(key: str) -> Path:
    """Where the calibration with this key is kept."""
    return cache_dir() / "calibration" / f"{key}.json"


def save_calibration(model: CostModel) -> Path:
    """Keep a calibration in the user's cache, with a checksum."""
    path = calibration_path(model.key)
    with write_atomically(path) as file:
        file.write(json.dumps(sealed(model.to_json()), indent=1).encode())
    return path


def load_calibration(key: str) -> CostModel | None:
    """The calibration with this key, or None when there is none that is as it was written."""
    try:
        data = json.loads(calibration_path(key).read_bytes())
        checksum = data.pop(CHECKSUM)
        model = CostModel.from_json(data)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # missing or damaged: it is made anew
    is_right = checksum == checksum_of(data) and data.get("schema") == SCHEMA and model.key == key
    return model if is_right else None
