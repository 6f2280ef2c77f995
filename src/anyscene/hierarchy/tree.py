"""`Tree`: nested partitions of one image, grown layer by layer as they are asked for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anyscene.errors import ConfigError
from anyscene.hierarchy import region_kernels
from anyscene.hierarchy.level import Level, make_level
from anyscene.hierarchy.pyramid import next_level
from anyscene.hierarchy.scales import LAYERS, layer_strides, region_counts


class Tree:
    """Nested partitions of one image; layer 0 is the whole image, and a full tree has `LAYERS`.

    Every layer tiles the image, every region lies inside one region of the layer above, and regions are
    4-connected. A layer is a function of the image alone: it is the same however far the tree is grown, and
    growing computes no layer that was not asked for. Regions are numbered in raster order of their first
    pixels. Arrays that the tree hands out are read-only.

    image : uint8[h, w, 3] of any size, mostly the working frame. It must not change while the tree grows.

    size : (h, w).
    strides : the side of the blocks of image pixels that each of the `LAYERS` layers is made of. Coarse
        layers are made on a shrunken image. Blocks at the right and lower border may be cut.
    parents : one int32[n] for each grown layer, the region of the layer above that holds each region;
        parents[0] is [0].
    areas : one int32[n] for each grown layer, in image pixels.
    boxes : one int32[n, 4] for each grown layer: top, left, bottom, right in image pixels, half-open.
    """

    def __init__(self, image: NDArray[np.uint8]) -> None:
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
            raise ConfigError(f"a tree needs an image uint8[h, w, 3], not {image.dtype}{list(image.shape)}")
        height, width = image.shape[:2]
        self.size = (height, width)
        self.strides = layer_strides(height * width)
        self.parents = [_frozen(np.zeros(1, np.int32))]
        self.areas = [_frozen(np.array([height * width], np.int32))]
        self.boxes = [_frozen(np.array([[0, 0, height, width]], np.int32))]
        self._counts = region_counts(height * width)
        self._image = image
        self._pyramid: dict[int, NDArray[np.uint8]] = {}
        self._level: Level | None = None
        self._pixels: NDArray[np.int32] | None = None
        # The finest layer's region of each region of the current level.
        self._names = np.zeros(1, np.int32)

    @property
    def image(self) -> NDArray[np.uint8]:
        """The image that the tree is of."""
        return self._image

    @property
    def depth(self) -> int:
        """How many layers are grown, from 1 to `LAYERS`."""
        return len(self.parents)

    @property
    def stride(self) -> int:
        """The side of the blocks that the finest grown layer is made of."""
        return self.strides[self.depth - 1]

    @property
    def pixels(self) -> NDArray[np.int32]:
        """The finest grown region of each block, int32[ceil(h / stride), ceil(w / stride)]."""
        if self._pixels is None:
            if self._level is None:
                self._pixels = _frozen(np.zeros([-(-side // self.stride) for side in self.size], np.int32))
            else:
                self._pixels = _frozen(self._names.take(self._level.regions))
        return self._pixels

    def grow(self, depth: int) -> None:
        """Grow the layers below `depth`; those that are grown stay as they are."""
        if not 1 <= depth <= LAYERS:
            raise ConfigError(f"a tree has between 1 and {LAYERS} layers, not {depth}")
        while self.depth < depth:
            self._add_layer()

    def region_map(self, layer: int) -> NDArray[np.int32]:
        """The region of a grown layer of each of the layer's own blocks, int32[ceil(h / s), ceil(w / s)]."""
        names = np.arange(len(self.areas[-1]), dtype=np.int32)
        for finer in range(self.depth - 1, layer, -1):
            names = self.parents[finer][names]
        step = self.strides[layer] // self.stride
        return names[self.pixels[::step, ::step]]

    def shrunk(self, stride: int) -> NDArray[np.uint8]:
        """The image with each block of `stride` x `stride` pixels (a power of two) averaged; made once."""
        if not self._pyramid:
            # Nothing is written, but kernels are compiled for writeable arrays.
            self._pyramid[1] = np.require(self._image, requirements=["C", "W"])
        if stride not in self._pyramid:
            self._pyramid[stride] = next_level(self.shrunk, stride)
        return self._pyramid[stride]

    def _add_layer(self) -> None:
        stride, count = self.strides[self.depth], self._counts[self.depth]
        if self._level is None or self._level.stride != stride:
            above, step = (self.pixels, self.stride // stride) if self._level else (_WHOLE, max(self.size))
            finest = max(c for s, c in zip(self.strides, self._counts, strict=True) if s == stride)
            self._level = make_level(self.shrunk(stride), stride, self.size, above, step, finest)
            within = self._level.above
        else:
            within = self._names
        level = self._level
        steps = min(len(level.merges), max(0, len(level.areas) - count))
        names, parents, areas, boxes = region_kernels.cut(
            level.merges, steps, within, level.areas, level.boxes
        )
        self.parents.append(_frozen(parents))
        self.areas.append(_frozen(areas))
        self.boxes.append(_frozen(boxes))
        self._names = names
        self._pixels = None


def warm_up() -> None:
    """Compile (or load) all that growing a tree needs."""
    tree = Tree(np.zeros((1, 1, 3), np.uint8))
    tree.grow(LAYERS)
    tree.shrunk(4)


def _frozen(array: NDArray[np.int32]) -> NDArray[np.int32]:
    array.flags.writeable = False
    return array


_WHOLE = _frozen(np.zeros((1, 1), np.int32))
"""The whole image as the layer above."""
