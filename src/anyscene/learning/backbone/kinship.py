"""What the classes of one data set are in the words of another, so that every image teaches every head.

A word may have several meanings there (Stanford Background's `road` may be SIFT Flow's `road`, `sidewalk` or
`crosswalk`) or none: what has none says nothing to that head.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

Meanings = Mapping[str, tuple[str, ...]]

_WALLS = ("building", "window", "door", "awning", "balcony", "staircase")
_WAYS = ("road", "crosswalk", "sidewalk")
_THINGS = ("person", "car", "bus", "boat", "bird", "cow", "sign", "pole", "streetlight")


def _each(words: tuple[str, ...], *meaning: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(words, meaning)


KIN: Mapping[tuple[str, str], Meanings] = {
    ("camvid", "stanford"): {
        "sky": ("sky",),
        "building": ("building",),
        "tree": ("tree", "grass"),
        "fence": ("foreground", "building"),
        **_each(("road", "pavement"), "road"),
        **_each(("pole", "sign", "car", "pedestrian", "bicyclist"), "foreground"),
    },
    ("stanford", "camvid"): {
        "sky": ("sky",),
        "tree": ("tree",),
        "road": ("road", "pavement"),
        "building": ("building", "fence"),
        "foreground": ("pole", "sign", "fence", "car", "pedestrian", "bicyclist"),
    },
    ("siftflow", "camvid"): {
        **_each(("sky", "sun"), "sky"),
        **_each((*_WALLS, "bridge"), "building"),
        **_each(("pole", "streetlight"), "pole"),
        **_each(("road", "crosswalk"), "road"),
        "sidewalk": ("pavement",),
        **_each(("tree", "plant"), "tree"),
        "sign": ("sign",),
        "fence": ("fence",),
        **_each(("car", "bus"), "car"),
        "person": ("pedestrian", "bicyclist"),
    },
    ("siftflow", "stanford"): {
        **_each(("sky", "sun", "moon"), "sky"),
        "tree": ("tree",),
        "plant": ("tree", "grass"),
        **_each(_WAYS, "road"),
        **_each(("grass", "field"), "grass"),
        **_each(("sea", "river"), "water"),
        **_each(_WALLS, "building"),
        "bridge": ("building", "foreground", "road"),
        "mountain": ("mountain",),
        "rock": ("mountain", "foreground"),
        "fence": ("foreground", "building"),
        **_each(_THINGS, "foreground"),
    },
}
"""By (data set whose truth it is, data set whose head hears it)."""


def listeners(name: str, heads: Iterable[str]) -> list[str]:
    """Return the heads, beside its own, that hear what the images of a data set show."""
    return [head for head in heads if (name, head) in KIN]


def meanings(words: Sequence[str], heard: Sequence[str], kin: Meanings) -> Tensor:
    """float[W, H]: 1 where a class that is heard is a meaning of the word."""
    table = torch.zeros(len(words), len(heard))
    for row, word in enumerate(words):
        for column, name in enumerate(heard):
            table[row, column] = float(name in kin.get(word, ()))
    return table
