"""Arrays by name: groups of them under a prefix, and files that hold them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from anyscene.files import write_atomically

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
    packed = save({name: np.ascontiguousarray(array) for name, array in arrays.items()}, about)
    with write_atomically(path) as file:
        file.write(packed)
