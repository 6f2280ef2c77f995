"""Run-length codes as COCO writes them: a mask column by column, as lengths of zeros and ones in turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.errors import DataError


def encode(mask: NDArray[np.bool_]) -> dict[str, Any]:
    """A mask bool[H, W] as COCO's compressed code: {"size": [H, W], "counts": text}."""
    column_wise = np.concatenate([[False], mask.ravel(order="F"), [False]])
    ends = np.flatnonzero(column_wise[1:] != column_wise[:-1])
    counts = np.diff(ends, prepend=0).tolist()
    if (rest := mask.size - sum(counts)) or not counts:
        counts.append(rest)
    return {"size": list(mask.shape), "counts": pack_counts(counts)}


def decode(code: dict[str, Any]) -> NDArray[np.bool_]:
    """The mask bool[H, W] of a code, whose counts may be packed or a list."""
    height, width = code["size"]
    counts = code["counts"]
    counts = unpack_counts(counts) if isinstance(counts, str | bytes) else counts
    values = np.arange(len(counts)) % 2 == 1
    try:
        flat = np.repeat(values, counts)
    except ValueError:
        flat = np.zeros(0, bool)
    if flat.size != height * width:
        raise DataError(
            f"a run-length code of {height}x{width} pixels holds {flat.size} of them; the file is damaged"
        )
    return flat.reshape(width, height).T


def pack_counts(counts: Sequence[int]) -> str:
    """COCO's text for counts: from the third on differences to the last but one, five bits a character."""
    packed = bytearray()
    for index, count in enumerate(counts):
        left = count - counts[index - 2] if index > 2 else count
        while True:
            five, left = left & 0x1F, left >> 5
            ends = left == (-1 if five & 0x10 else 0)
            packed.append(48 + (five if ends else five | 0x20))
            if ends:
                break
    return packed.decode("ascii")


def unpack_counts(text: str | bytes) -> list[int]:
    """The inverse of `pack_counts`."""
    counts: list[int] = []
    value = shift = 0
    for character in text.encode("ascii", "replace") if isinstance(text, str) else text:
        five = character - 48
        value |= (five & 0x1F) << shift
        shift += 5
        if not five & 0x20:
            if five & 0x10:
                value -= 1 << shift
            counts.append(value + (counts[-2] if len(counts) > 2 else 0))
            value = shift = 0
    return counts
