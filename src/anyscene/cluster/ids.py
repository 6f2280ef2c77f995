"""What names a result: a hash of the image, its version, the model and the settings; and sets of such."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

ID_BYTES = 16
"""With 128 bits, two of a billion images share an id with a chance of 1 in 10^21."""

Ids = NDArray[np.bytes_]
"""S16[n], sorted or not."""


def way_of(facts: Mapping[str, Any]) -> bytes:
    """A hash of all that results depend on beside the image."""
    return hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=ID_BYTES).digest()


def ids_of(way: bytes, images: Iterable[tuple[str, str]]) -> Ids:
    """The ids of images, each given by its URI and version."""
    begun = hashlib.blake2b(way, digest_size=ID_BYTES)
    digests = []
    for uri, version in images:
        one = begun.copy()
        one.update(f"{uri}\0{version}".encode(errors="surrogateescape"))
        digests.append(one.digest())
    return np.frombuffer(b"".join(digests), f"S{ID_BYTES}")


def id_bytes(ids: Ids) -> list[bytes]:
    """Ids as bytes of full length; numpy alone would drop zeros at their end."""
    packed = np.ascontiguousarray(ids).tobytes()
    return [packed[start : start + ID_BYTES] for start in range(0, len(packed), ID_BYTES)]


class IdSet:
    """A set of ids that takes 16 bytes for each, kept as few sorted arrays.

    Arrays of about the same size are merged, so that adding stays cheap and there are never many.
    """

    def __init__(self) -> None:
        self._runs: list[Ids] = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def add_new(self, ids: Ids) -> NDArray[np.bool_]:
        """Add ids; tell of each whether it was new, the first time that it occurs."""
        first = np.zeros(len(ids), np.bool_)
        unique, places = np.unique(ids, return_index=True)
        is_new = np.ones(len(unique), np.bool_)
        for run in self._runs:
            found = np.minimum(np.searchsorted(run, unique), len(run) - 1)
            is_new &= run[found] != unique
        first[places[is_new]] = True
        if is_new.any():
            self._runs.append(unique[is_new])
        while len(self._runs) > 1 and len(self._runs[-2]) < 2 * len(self._runs[-1]):
            merged = np.concatenate([self._runs.pop(), self._runs.pop()])
            merged.sort()
            self._runs.append(merged)
        return first
