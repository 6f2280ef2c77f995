"""SIFT Flow: `Images/<set>/*.jpg` with MATLAB labels `SemanticLabels/<set>/*.mat`, and `TestSet1.txt`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyscene.data.classes import Classes
from anyscene.data.pairs import Pairs, files_by_stem
from anyscene.data.palettes import distinct_colors
from anyscene.data.scenes import DataSet
from anyscene.data.splits import split_by_hash
from anyscene.errors import DataError

OPTIONS = ()


def open_tree(root: Path) -> DataSet:
    """Open a SIFT Flow tree; images whose label is void everywhere are in `all` only, and noted."""
    images, labels = root / "Images", root / "SemanticLabels"
    label_files = files_by_stem(labels, [".mat"])
    if not images.is_dir() or not label_files:
        raise DataError(f"{root}: not SIFT Flow; expected Images/<set>/*.jpg and SemanticLabels/<set>/*.mat in it")
    reader = MatReader(_read_names(next(iter(label_files.values()))))
    pairs = Pairs(files_by_stem(images), label_files, reader.read)
    blank = [id for id, path in label_files.items() if id in pairs.images and not _read_ids(path).any()]
    usable = [id for id in pairs.images if id not in set(blank)]
    splits = split_by_hash(usable, test=_read_test_list(root / "TestSet1.txt"))
    notes = [f"{id} has no labeled pixel: it is in 'all' but in no other split" for id in blank]
    return DataSet(
        "siftflow",
        Classes(reader.names, distinct_colors(len(reader.names))),
        {**splits, "all": list(pairs.images)},
        pairs.image,
        pairs.truth,
        notes=notes,
        problems=pairs.strays(),
    )


@dataclass(frozen=True)
class MatReader:
    """Reads label files that must all speak of the same classes."""

    names: tuple[str, ...]

    def read(self, path: Path) -> NDArray[np.int16]:
        """Read one label file: MATLAB's 0 is void, its 1 our class 0."""
        if _read_names(path) != self.names:
            raise DataError(f"{path}: its class names differ from those of the other label files; unpack it again")
        ids = _read_ids(path)
        if ids.max(initial=0) > len(self.names):
            raise DataError(f"{path}: holds class id {ids.max()}, but ids go from 1 to {len(self.names)} (0 is void)")
        return ids.astype(np.int16) - 1


def _read_ids(path: Path) -> NDArray[np.uint8]:
    ids: NDArray[np.uint8] = _load(path, "S")
    return ids


def _read_names(path: Path) -> tuple[str, ...]:
    return tuple(str(name[0]) for name in _load(path, "names").ravel())


def _load(path: Path, variable: str) -> NDArray:  # type: ignore[type-arg]
    from scipy.io import loadmat  # slow to import, and needed by this layout only

    try:
        value: NDArray[np.generic] = loadmat(path, variable_names=[variable])[variable]
    except Exception as error:  # damaged files make the MATLAB reader raise almost anything
        raise DataError(
            f"{path}: cannot be read as a MATLAB file with variables S and names ({error}); unpack it again"
        ) from error
    return value


def _read_test_list(path: Path) -> list[str]:
    """Read the official test ids; the list was written on Windows, with backslashes and suffixes."""
    if not path.is_file():
        return []
    names = path.read_text(encoding="utf-8").replace("\\", "/").split()
    return [name.rpartition(".")[0] or name for name in names]
