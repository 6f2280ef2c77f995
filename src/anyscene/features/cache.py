"""A disk cache of region features, so that learning never extracts twice."""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyscene.errors import ConfigError
from anyscene.features.regions import RegionFeatures
from anyscene.features.sets import Bank, FeatureSet
from anyscene.features.view import Rect, View
from anyscene.hierarchy import LAYERS, Tree

STALE_SECONDS = 3600
"""After so long, an unfinished file is what a killed process left behind."""


class FeatureCache:
    """Features of all regions of all layers of an image, one memory-mapped array for each feature set.

    An array is float32[regions of all layers, dimensions], coarse layers first. Its name is a hash of the
    image, its tree, and the set with all that it learned: whatever changes, changes the name, so nothing that
    is found is ever stale. A file appears whole or not at all. Processes that need the same one at the same
    time both make it, and the one that ends last replaces its equal. Thus any number of them may share a
    folder, and be killed at any moment.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"cannot keep features in {folder}: {error.strerror}; choose another"
            ) from error
        for partial in self.folder.glob("*/.*.partial"):
            _remove_if_stale(partial)

    def features(
        self, frame: NDArray[np.uint8], tree: Tree, bank: Bank, names: Iterable[str], rect: Rect | None = None
    ) -> dict[str, NDArray[np.float32]]:
        """Features of the named sets for a working frame and its tree; what is not in the cache is put there.

        rect: extract the sets for this part of the frame only; regions beyond it have NaN features.
        """
        tree.grow(LAYERS)
        image_key = _hash_image(frame, tree)
        regions: RegionFeatures | None = None
        found = {}
        for name in names:
            path = self._path(image_key, bank[name], rect)
            array = _load(path)
            if array is None:
                # One object for all sets that are missing, so that they share maps.
                regions = regions or RegionFeatures(bank, View(frame), tree)
                _save(path, compute_features(regions, name, rect))
                array = _load(path)
                if array is None:
                    raise ConfigError(f"{path} cannot be read back; is the disk full?")
            found[name] = array
        return found

    def _path(self, image_key: str, chosen: FeatureSet, rect: Rect | None) -> Path:
        part = "" if rect is None else repr(tuple(rect))
        key = hashlib.sha256(f"{image_key} {chosen.fingerprint()} {part}".encode()).hexdigest()
        return self.folder / key[:2] / f"{key[2:40]}.npy"


def compute_features(regions: RegionFeatures, name: str, rect: Rect | None = None) -> NDArray[np.float32]:
    """Features of all regions of all layers in hand, coarse layers first; NaN where `rect` does not reach."""
    if rect is not None:
        regions.extract(name, rect)
    rows = []
    for layer in range(regions.layers.tree.depth):
        features = regions.features(name, layer)
        if rect is not None:
            features = np.where(regions.covered(name, layer)[:, None], features, np.float32(np.nan))
        rows.append(features)
    return np.concatenate(rows)


def _hash_image(frame: NDArray[np.uint8], tree: Tree) -> str:
    digest = hashlib.sha256(f"{frame.shape} {tree.strides}".encode())
    for array in (frame, tree.pixels, *tree.parents):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _load(path: Path) -> NDArray[np.float32] | None:
    try:
        array: NDArray[np.float32] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):  # not there, or cut short when the machine went down
        return None
    return array


def _save(path: Path, array: NDArray[np.float32]) -> None:
    path.parent.mkdir(exist_ok=True)
    # Not `write_atomically`: it waits for the disk, thousands of times, and what is lost is made anew.
    partial = path.parent / f".{secrets.token_hex(8)}.partial"
    try:
        with open(partial, "xb") as file:
            np.save(file, array, allow_pickle=False)
        os.replace(partial, path)
    except OSError as error:
        raise ConfigError(f"cannot keep features in {path.parent}: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)


def _remove_if_stale(partial: Path) -> None:
    try:
        if time.time() - partial.stat().st_mtime > STALE_SECONDS:
            partial.unlink()
    except FileNotFoundError:  # another process was first
        pass
