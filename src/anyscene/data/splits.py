"""Splits that depend on the names of scenes alone, so that they are the same on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from anyscene.data.images import IMAGE_SUFFIXES
from anyscene.errors import DataError

# These two seeds define published figures: a change would move scenes from val into train.
VALIDATION_SEED = "anyscene-validation-2"
HALVES_SEED = "anyscene-halves-1"


def evenly_spread(count: int, most: int) -> list[int]:
    """Return the positions of at most `most` of `count` things, evenly spread from the first to the last."""
    return [round(place) for place in np.linspace(0, count - 1, min(count, most)).tolist()]


def in_validation_fifth(id: str) -> bool:
    """Tell whether a scene belongs to the fixed fifth that is never trained on."""
    return _hash(VALIDATION_SEED, id) % 5 == 0


def in_first_half(id: str) -> bool:
    """Tell whether a training scene belongs to the cross-fit half `a` (else `b`)."""
    return _hash(HALVES_SEED, id) % 2 == 0


def split_by_hash(ids: Sequence[str], test: Iterable[str] = ()) -> dict[str, list[str]]:
    """Divide ids into train, val, test and the halves a and b of train; order is kept.

    test: ids of the official test set; those that are not among `ids` are ignored.
    """
    held_out = set(test)
    ours = [id for id in ids if id not in held_out]
    train = [id for id in ours if not in_validation_fifth(id)]
    return {
        "train": train,
        "val": [id for id in ours if in_validation_fifth(id)],
        "test": [id for id in ids if id in held_out],
        "a": [id for id in train if in_first_half(id)],
        "b": [id for id in train if not in_first_half(id)],
    }


def read_ids(path: Path) -> list[str]:
    """Read a list of scenes, one a line; backslashes become slashes, and an image suffix is dropped.

    Blank lines, repetitions and lines that begin with # do not count.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise DataError(f"{path}: not a text file; expected one scene a line") from None
    names = (line.strip().replace("\\", "/") for line in lines)
    return list(dict.fromkeys(_without_suffix(name) for name in names if name and not name.startswith("#")))


def _without_suffix(name: str) -> str:
    stem, dot, suffix = name.rpartition(".")
    return stem if dot + suffix.lower() in IMAGE_SUFFIXES else name


def _hash(seed: str, id: str) -> int:
    digest = hashlib.sha256(f"{seed}:{id}".encode(errors="surrogateescape")).digest()
    return int.from_bytes(digest[:8], "big")
