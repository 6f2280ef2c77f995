"""Scenes with their truth, and the data sets that hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from anyscene.data.classes import Classes
from anyscene.errors import DataError

LoadImage = Callable[[str], NDArray[np.uint8]]
LoadTruth = Callable[[str], NDArray[np.int16] | None]


@dataclass(frozen=True, eq=False)
class Scene:
    """One image and what is known about it.

    image: uint8[H, W, 3], RGB.
    truth: int16[H, W], a class id or VOID at every pixel; None when the data set has no label for it.
    """

    id: str
    image: NDArray[np.uint8]
    truth: NDArray[np.int16] | None

    def __post_init__(self) -> None:
        if self.truth is not None and self.truth.shape != self.image.shape[:2]:
            raise DataError(
                f"scene '{self.id}': the image is {_size(self.image)} but the truth is {_size(self.truth)}; "
                "both must have the same size"
            )

    def __repr__(self) -> str:
        truth = "with its truth" if self.truth is not None else "without a truth"
        return f"<Scene {self.id!r} {_size(self.image)}, {truth}>"


class DataSet:
    """An open data set: its classes, and named lists of scenes that are decoded when asked for.

    `all` is always a split; empty splits do not exist.

    splits: ids of each split; without an `all` it is the union of the others.
    load_image, load_truth: from an id to its arrays; they raise an AnysceneError that names the file.
    notes: plain sentences about what is unusual but in order, such as images left out of a split.
    problems: plain sentences about what is wrong with the data as a whole (`data check` reports them).
    """

    def __init__(
        self,
        name: str,
        classes: Classes,
        splits: Mapping[str, Sequence[str]],
        load_image: LoadImage,
        load_truth: LoadTruth,
        notes: Sequence[str] = (),
        problems: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.classes = classes
        self.load_image = load_image
        self.load_truth = load_truth
        self.notes = tuple(notes)
        self.problems = tuple(problems)
        self._ids = {split: ids for split, ids in splits.items() if len(ids)}
        if not self._ids:
            raise DataError(f"{name} holds no images that can be read (PNG, JPEG, WebP …); check its folders")
        if "all" not in self._ids:
            self._ids["all"] = tuple(dict.fromkeys(id for ids in self._ids.values() for id in ids))

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits that hold at least one scene."""
        return tuple(self._ids)

    def split(self, name: str) -> SceneList:
        """Return the scenes of one split."""
        if name not in self._ids:
            raise DataError(f"{self.name} has no split '{name}'; it has {', '.join(self.splits)}")
        return SceneList(self, self._ids[name])

    def __repr__(self) -> str:
        counts = ", ".join(f"{split} {len(ids)}" for split, ids in self._ids.items())
        return f"<DataSet {self.name}: {len(self.classes)} classes; {counts}>"


class SceneList(Sequence[Scene]):
    """Scenes of a data set in a fixed order, decoded each time one is asked for; a slice is a SceneList."""

    def __init__(self, dataset: DataSet, ids: Sequence[str]) -> None:
        self._dataset = dataset
        self.ids = ids

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, index: int) -> Scene: ...
    @overload
    def __getitem__(self, index: slice) -> SceneList: ...
    def __getitem__(self, index: int | slice) -> Scene | SceneList:
        if isinstance(index, slice):
            return SceneList(self._dataset, self.ids[index])
        return Scene(self.ids[index], self.image(index), self.truth(index))

    def __iter__(self) -> Iterator[Scene]:
        return (self[index] for index in range(len(self)))

    def pick(self, indices: Sequence[int]) -> SceneList:
        """The scenes at these positions, in this order."""
        return SceneList(self._dataset, [self.ids[index] for index in indices])

    def image(self, index: int) -> NDArray[np.uint8]:
        """Decode only the image, uint8[H, W, 3]."""
        return self._dataset.load_image(self.ids[index])

    def truth(self, index: int) -> NDArray[np.int16] | None:
        """Decode only the truth, int16[H, W], or None."""
        return self._dataset.load_truth(self.ids[index])

    def __repr__(self) -> str:
        return f"<SceneList of {self._dataset.name}: {len(self)} scenes>"


def _size(array: NDArray[np.generic]) -> str:
    return f"{array.shape[1]}x{array.shape[0]}"
