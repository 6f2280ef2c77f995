"""SIFT Flow: `Images/<set>/*.jpg` with MATLAB labels `SemanticLabels/<set>/*.mat`, and `TestSet1.txt`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.data.classes import Classes
from anyscene.data.pairs import Pairs, find_files
from anyscene.data.palettes import distinct_colors
from anyscene.data.scenes import DataSet
from anyscene.data.splits import read_ids, split_by_hash
from anyscene.errors import DataError

OPTIONS = ()


def open_tree(root: Path) -> DataSet:
    """Open a SIFT Flow tree; `val` is a fixed fifth, `test` the images of the official list that are there.

    Images whose label is void everywhere are in `all` only, and noted.
    """
    labels = find_files(root / "SemanticLabels", [".mat"])
    if not (root / "Images").is_dir() or not labels:
        raise DataError(
            f"{root}: not SIFT Flow; expected Images/<set>/*.jpg and SemanticLabels/<set>/*.mat in it"
        )
    names = _class_names(labels.values())
    pairs = Pairs(find_files(root / "Images"), labels, MatReader(names).read)
    blank = [id for id in pairs.images if id in labels and _is_blank(labels[id])]
    test_list = root / "TestSet1.txt"
    splits = split_by_hash(
        [id for id in pairs.images if id not in set(blank)],
        test=read_ids(test_list) if test_list.is_file() else (),
    )
    return DataSet(
        "siftflow",
        Classes(names, distinct_colors(len(names))),
        {**splits, "all": list(pairs.images)},
        pairs.image,
        pairs.truth,
        notes=[f"{id} has no labeled pixel: it is in 'all' but in no other split" for id in blank],
        problems=pairs.strays(),
    )


@dataclass(frozen=True)
class MatReader:
    """Reads label files, which must all name the same classes."""

    names: tuple[str, ...]

    def read(self, path: Path) -> NDArray[np.int16]:
        """Read one label file, where 0 is void and 1 is our class 0."""
        content = _load(path, "S", "names")
        if _names_in(content) != self.names:
            raise DataError(
                f"{path}: its class names differ from those of other label files; unpack it again"
            )
        ids: NDArray[np.integer] = content["S"]
        if ids.ndim != 2 or ids.max(initial=0) > len(self.names):
            raise DataError(
                f"{path}: S must be a matrix of ids from 0 (void) to {len(self.names)}, "
                f"found shape {ids.shape} and values up to {ids.max(initial=0)}; unpack it again"
            )
        return ids.astype(np.int16) - np.int16(1)


def _class_names(paths: Iterable[Path]) -> tuple[str, ...]:
    """Take the class names from the first label file that can be read."""
    first_error: DataError | None = None
    for path in paths:
        try:
            return _names_in(_load(path, "names"))
        except DataError as error:
            first_error = first_error or error
    raise first_error or DataError("there are no label files")


def _is_blank(path: Path) -> bool:
    try:
        return not _load(path, "S")["S"].any()
    except DataError:
        return False  # so that the scene stays in its split, and reading its truth says what is wrong


def _names_in(content: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(name[0]) for name in content["names"].ravel())


def _load(path: Path, *variables: str) -> dict[str, Any]:
    from scipy.io import loadmat  # slow to import, and only this layout needs it

    try:
        content: dict[str, Any] = loadmat(path, variable_names=variables)
    except Exception as error:  # damaged files make the MATLAB reader raise almost anything
        raise DataError(f"{path}: cannot be read as a MATLAB file ({error}); unpack it again") from error
    for variable in variables:
        if variable not in content:
            raise DataError(f"{path}: a MATLAB file without the variable {variable}; unpack it again")
    return content
