"""Checks of arrays and words that come from files: compiled loops index by them, and believe every number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def check_array(
    name: str,
    array: NDArray[Any],
    dtype: DTypeLike,
    shape: Sequence[int | None],
    low: float = -inf,
    high: float = inf,
    infinite: bool = False,
) -> None:
    """Raise a ValueError unless an array is exactly of this kind and all its numbers are within bounds.

    shape : the length of each axis; None allows any. infinite : whether numbers may be infinite.
    """
    if array.dtype != np.dtype(dtype):
        raise ValueError(f"{name} holds {array.dtype}, not {np.dtype(dtype)}")
    fits = array.ndim == len(shape) and all(
        wanted in (None, found) for wanted, found in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("any" if side is None else str(side) for side in shape)
        raise ValueError(f"{name} has the shape {list(array.shape)}, not [{wanted}]")
    if array.dtype == np.bool_:
        array, low, high = array.view(np.uint8), 0, 1  # other bytes count differently in different places
    if not array.size:
        return
    smallest, largest = array.min(), array.max()  # nan if any number is
    if not (low <= smallest and largest <= high) or not (infinite or np.isfinite([smallest, largest]).all()):
        raise ValueError(f"{name} has numbers from {smallest:g} to {largest:g}, beyond what they may be")


def check_names(what: str, names: Sequence[str]) -> None:
    """Raise a ValueError unless names differ, say something, and can be printed on any terminal."""
    if len(set(names)) < len(names):
        raise ValueError(f"two {what} have the same name")
    if not all(0 < len(name) <= 200 and name.isprintable() for name in names):
        raise ValueError(f"some of the {what} have names that are empty, long or cannot be printed")


def check_keys(what: str, found: Mapping[str, object], wanted: Sequence[str]) -> None:
    """Raise a ValueError unless a mapping has exactly these keys."""
    if odd := sorted(set(found) ^ set(wanted)):
        is_missing = odd[0] in wanted
        raise ValueError(f"{what} {'lack' if is_missing else 'have an unknown'} '{odd[0][:100]}'")
