"""A disk cache of region features, so that learning extracts each only once."""

from __future__ import annotations

import hashlib
import io
import logging
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyscene.errors import ConfigError
from anyscene.features.regions import RegionFeatures
from anyscene.features.sets import Bank, FeatureSet
from anyscene.features.view import View
from anyscene.files import remove_stale, write_atomically
from anyscene.hierarchy import LAYERS, Tree

logger = logging.getLogger(__name__)

CHECKSUM_BYTES = 16
"""What a file ends with: a hash of all that comes before."""


class FeatureCache:
    """Features of all regions of all layers of an image, one memory-mapped array for each feature set.

    An array is float32[regions of all layers, dimensions], coarse layers first. Its name is a hash of the
    image, its tree, and the set with all that it learned. Any change gives another name, so that nothing in
    the cache is ever stale. A file appears whole or not at all and ends with a checksum; where that or its
    shape is wrong, it is made anew. Two processes that need the same file at the same time both make it, and
    the later one replaces its equal. So any number of processes may share a folder, and may be killed at any
    moment. Where nothing can be kept, features stay in memory.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        for part in self.folder.glob("??"):
            remove_stale(part)

    def features(
        self, frame: NDArray[np.uint8], tree: Tree, bank: Bank, names: Iterable[str]
    ) -> dict[str, NDArray[np.float32]]:
        """Features of the named sets for a working frame and its tree; what is missing is added."""
        tree.grow(LAYERS)
        image_key = hash_image(frame, tree)
        regions: RegionFeatures | None = None
        found = {}
        for name in names:
            path, shape = (
                self._path(image_key, bank[name]),
                (sum(map(len, tree.areas)), bank[name].dimensions),
            )
            array = _load(path, shape)
            if array is None:
                # One object for all sets that are missing, so that they share maps.
                regions = regions or RegionFeatures(bank, View(frame), tree)
                made = compute_features(regions, name)
                array = _load(path, shape) if _keep(path, made) else made
            found[name] = made if array is None else array
        return found

    def add(self, image_key: str, chosen: FeatureSet, array: NDArray[np.float32]) -> None:
        """Keep what was computed elsewhere. image_key : from `hash_image`."""
        _keep(self._path(image_key, chosen), array)

    def _path(self, image_key: str, chosen: FeatureSet) -> Path:
        key = hashlib.sha256(f"{image_key} {chosen.fingerprint()}".encode()).hexdigest()
        return self.folder / key[:2] / f"{key[2:40]}.npy"


def compute_features(regions: RegionFeatures, name: str) -> NDArray[np.float32]:
    """Features of all regions of all layers in hand, coarse layers first."""
    return np.concatenate([regions.features(name, layer) for layer in range(regions.layers.tree.depth)])


def hash_image(frame: NDArray[np.uint8], tree: Tree) -> str:
    """What names an image and its tree."""
    digest = hashlib.sha256(f"{frame.shape} {tree.strides}".encode())
    for array in (frame, tree.pixels, *tree.parents):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _load(path: Path, shape: tuple[int, int]) -> NDArray[np.float32] | None:
    """The array in a file, memory-mapped; None where there is none, or not the one that was written."""
    try:
        whole = np.memmap(path, np.uint8, "r")
        if _checksum(whole[:-CHECKSUM_BYTES].data) != whole[-CHECKSUM_BYTES:].tobytes():
            return None
        array: NDArray[np.float32] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):
        return None
    is_right = array.dtype == np.float32 and array.shape == shape and array.flags.c_contiguous
    return array if is_right else None


def _keep(path: Path, array: NDArray[np.float32]) -> bool:
    """Write an array and its checksum; tell whether that worked."""
    packed = io.BytesIO()
    np.save(packed, array, allow_pickle=False)
    try:
        # The checksum tells what a power cut damaged; waiting for the disk would take long.
        with write_atomically(path, sync=False) as file:
            file.write(packed.getbuffer())
            file.write(_checksum(packed.getbuffer()))
    except ConfigError as error:
        logger.warning("features are not kept: %s", error)
        return False
    return True


def _checksum(data: memoryview) -> bytes:
    return hashlib.blake2b(data, digest_size=CHECKSUM_BYTES).digest()
