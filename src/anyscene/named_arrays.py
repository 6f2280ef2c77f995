"""Arrays by name: groups of them under a prefix, and files that hold them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from anyscene.files import write_atomically

CHECKSUM = "sha256"
"""Under this name a file holds a hash of its arrays: a byte that changes must not train another model."""

Arrays = Mapping[str, NDArray[Any]]
Value = TypeVar("Value")


def prefixed(prefix: str, named: Mapping[str, Value]) -> dict[str, Value]:
    """Put everything under `prefix/…`."""
    return {f"{prefix}/{name}": value for name, value in named.items()}


def under(prefix: str, named: Mapping[str, Value]) -> dict[str, Value]:
    """Return what is named `prefix/…`, by the rest of its name: the inverse of `prefixed`."""
    start = f"{prefix}/"
    return {name.removeprefix(start): value for name, value in named.items() if name.startswith(start)}


def write_arrays(path: str | Path, arrays: Arrays, about: dict[str, str] | None = None) -> None:
    """Write arrays to a safetensors file, wholly or not at all. about : words that the file holds beside."""
    made = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    packed = save(made, {**(about or {}), CHECKSUM: _checksum(made)})
    with write_atomically(path) as file:
        file.write(packed)


def read_arrays(path: str | Path) -> dict[str, NDArray[Any]] | None:
    """The arrays of a file; None where there is none, or not the one that was written.

    Files of earlier versions have no checksum and are believed.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            about = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    except (OSError, SafetensorError, ValueError, KeyError, TypeError):
        return None
    return arrays if about.get(CHECKSUM, checksum := _checksum(arrays)) == checksum else None


def _checksum(arrays: Arrays) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(arrays[name].tobytes())
    return digest.hexdigest()
