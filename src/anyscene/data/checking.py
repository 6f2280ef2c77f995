"""Looking through a whole data set: what it holds, and everything that is wrong with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.data.classes import Classes
from anyscene.data.scenes import DataSet
from anyscene.errors import AnysceneError

Progress = Callable[[Sequence[int]], Iterable[int]]


@dataclass(frozen=True, eq=False)
class Check:
    """What a data set holds.

    splits: scenes of each split.
    sizes: usable scenes of each (width, height), most frequent first.
    pixels, scenes: int64[classes], labeled pixels of each class, and scenes in which it occurs.
    void: pixels whose label is void.
    unlabeled: scenes that have no truth and are not meant to.
    notes, problems: plain sentences; the data is in order if there are no problems.
    """

    name: str
    classes: Classes
    splits: dict[str, int]
    sizes: dict[tuple[int, int], int]
    pixels: NDArray[np.int64]
    scenes: NDArray[np.int64]
    void: int
    unlabeled: int
    notes: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def shares(self) -> NDArray[np.float64]:
        """Each class's share of all labeled pixels, float64[classes]; zeros if nothing is labeled."""
        return self.pixels / max(1, int(self.pixels.sum()))

    @property
    def void_share(self) -> float:
        """The share of void among all pixels that a label covers."""
        return self.void / max(1, self.void + int(self.pixels.sum()))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values that JSON can hold."""
        columns = zip(self.classes.names, self.pixels, self.shares, self.scenes, strict=True)
        return {
            "name": self.name,
            "splits": self.splits,
            "sizes": [
                {"width": width, "height": height, "images": count}
                for (width, height), count in self.sizes.items()
            ],
            "classes": [
                {"name": name, "pixels": int(pixels), "share": float(share), "scenes": int(scenes)}
                for name, pixels, share, scenes in columns
            ],
            "void_share": self.void_share,
            "unlabeled": self.unlabeled,
            "notes": list(self.notes),
            "problems": list(self.problems),
        }


def check(dataset: DataSet, progress: Progress = iter) -> Check:
    """Read every scene of a data set once; a file that cannot be used is a problem, not an exception.

    progress: wraps the sequence of scenes, to show how far it is.
    """
    everything = dataset.split("all")
    sizes: Counter[tuple[int, int]] = Counter()
    pixels = np.zeros(len(dataset.classes), np.int64)
    scenes = np.zeros(len(dataset.classes), np.int64)
    void = unlabeled = 0
    problems = list(dataset.problems)
    for index in progress(range(len(everything))):
        try:
            scene = everything[index]
        except AnysceneError as error:
            problems.append(str(error))
            continue
        height, width, _ = scene.image.shape
        sizes[width, height] += 1
        if scene.truth is None:
            unlabeled += 1
            continue
        # Void is -1, so that shifting by one makes it the first bin.
        counts = np.bincount(scene.truth.ravel() + 1, minlength=len(dataset.classes) + 1)
        void += int(counts[0])
        pixels += counts[1:]
        scenes += counts[1:] > 0
    return Check(
        name=dataset.name,
        classes=dataset.classes,
        splits={split: len(dataset.split(split)) for split in dataset.splits},
        sizes=dict(sizes.most_common()),
        pixels=pixels,
        scenes=scenes,
        void=void,
        unlabeled=unlabeled,
        notes=dataset.notes,
        problems=tuple(problems),
    )
