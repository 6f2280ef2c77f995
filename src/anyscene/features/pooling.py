"""From maps to regions: what a region keeps of the map under it.

A map covers the frame at any resolution. It is pooled onto the regions of a `Grid` as sums, which add up the
tree; only then are they made into means or histograms.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.features import pooling_kernels as kernels

MARGINAL_BINS = 8
"""Bins of the histogram of a channel of bytes; `pooling_kernels.add_marginals` is written for as many."""

LEAST_WEIGHT = 1e-12
"""What sums are divided by at least: a region without weight gets zeros."""


class Pooling(Enum):
    """What is kept of the map under a region.

    MEAN: the mean of each channel.
    MOMENTS: the mean and the standard deviation of each channel.
    WORDS: the histogram of a map of words (small integers), summing to 1.
    MARGINALS: of a map of bytes, the mean and the standard deviation of each channel and its histogram.
    """

    MEAN = "mean"
    MOMENTS = "moments"
    WORDS = "words"
    MARGINALS = "marginals"

    def columns(self, channels: int) -> int:
        """Columns of the sums, and of what they are made into; `channels` is the vocabulary of WORDS."""
        factor = {Pooling.MOMENTS: 2, Pooling.MARGINALS: 2 + MARGINAL_BINS}.get(self, 1)
        return channels * factor

    def finish(self, sums: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float32]:
        """Make sums[n, columns] over `weights` into what is kept; regions without weight get zeros."""
        divisor = np.maximum(weights, LEAST_WEIGHT)[:, None]
        kept = np.empty(sums.shape, np.float32)
        np.divide(sums, divisor, out=kept, casting="same_kind")
        if self in (Pooling.MOMENTS, Pooling.MARGINALS):
            # In double precision, since it is the difference of two large numbers.
            channels = sums.shape[1] // self.columns(1)
            mean, square = np.split(sums[:, : 2 * channels] / divisor, 2, axis=1)
            kept[:, channels : 2 * channels] = np.sqrt(np.maximum(square - mean * mean, 0))
        return kept


@dataclass(frozen=True, eq=False)
class Map:
    """A map of the frame.

    values: [h', w', channels], or [h', w'] of words; its first cell starts at the frame's top left corner.
    stride: pixels of the frame to a cell, so that the last cells may reach beyond the frame. A grid pixel
        takes the value of the cell that it lies in. None: the cells are stretched evenly over the frame, and
        a grid pixel takes its value from the cells around it, bilinearly.
    """

    values: NDArray[Any]
    stride: int | None = None


class Taps(NamedTuple):
    """Sparse weights from regions to the cells of a map; see `pooling_kernels.build_taps`."""

    region: NDArray[np.int32]
    cell: NDArray[np.int32]
    corners: NDArray[np.float32]
    weights: NDArray[np.float32]


@dataclass(eq=False)
class Grid:
    """The regions of one layer, drawn on blocks of `stride` by `stride` pixels of the frame.

    pixels: int32[ceil(h / stride), ceil(w / stride)], the region of each block.
    regions: how many there are. size: height and width of the frame.
    """

    pixels: NDArray[np.int32]
    stride: int
    regions: int
    size: tuple[int, int]
    _taps: dict[tuple[int, int, int | None], Taps] = field(default_factory=dict, repr=False)

    def is_direct(self, found: Map) -> bool:
        """Whether every cell of a map lies in just one grid pixel, so that the map is summed cell by cell."""
        return found.stride is not None and self.stride % found.stride == 0

    def needs_taps(self, found: Map) -> bool:
        """Whether pooling a map would build taps that are not in hand."""
        return not self.is_direct(found) and _geometry(found) not in self._taps

    def taps(self, found: Map) -> Taps:
        """Weights of the regions onto the cells of a map; maps of the same geometry share them."""
        key = height, width, stride = _geometry(found)
        if key not in self._taps:
            extent = self.size if stride is None else (height * stride, width * stride)
            rows, columns = ((np.arange(side) + 0.5) * self.stride for side in self.pixels.shape)
            self._taps[key] = Taps(
                *kernels.build_taps(
                    self.pixels,
                    *_cells(rows / extent[0], height, stride is None),
                    *_cells(columns / extent[1], width, stride is None),
                    width,
                    self.regions,
                )
            )
        return self._taps[key]


@dataclass(eq=False)
class Sums:
    """What pooling gives each region of a layer.

    table: float64[n, columns + 1]: the sums, then the weight by which they are to be divided. One table,
    since all of it adds up in the same way.
    """

    table: NDArray[np.float64]

    @classmethod
    def zeros(cls, regions: int, columns: int) -> Sums:
        """Nothing pooled yet."""
        return cls(np.zeros((regions, columns + 1)))

    @property
    def sums(self) -> NDArray[np.float64]:
        """The sums, float64[n, columns]."""
        return self.table[:, :-1]

    @property
    def weights(self) -> NDArray[np.float64]:
        """What the sums are divided by, float64[n]."""
        return self.table[:, -1]


def average(found: Map, blocks: int) -> Sums:
    """The sums of one region, the whole frame of so many `blocks`: the mean of a map's cells, times these."""
    cells = found.values.reshape(-1, found.values.shape[2])
    table = np.full((1, cells.shape[1] + 1), blocks, np.float64)
    table[:, :-1] = cv2.reduce(cells, 0, cv2.REDUCE_SUM, dtype=cv2.CV_64F) * (blocks / len(cells))
    return Sums(table)


def pool(found: Map, pooling: Pooling, channels: int, grid: Grid) -> Sums:
    """Sum a map over the regions of a grid; `channels` is the vocabulary of WORDS."""
    result = Sums.zeros(grid.regions, pooling.columns(channels))
    values, stride = found.values, found.stride
    if stride is not None and grid.is_direct(found):
        rows, columns = (stride * np.arange(cells) // grid.stride for cells in values.shape[:2])
        if pooling is Pooling.WORDS:
            kernels.add_words(values, rows, columns, grid.pixels, result.table)
        elif pooling is Pooling.MARGINALS:
            kernels.add_marginals(values, rows, columns, grid.pixels, result.table)
        else:
            squares = pooling is Pooling.MOMENTS
            kernels.add_values(values, rows, columns, grid.pixels, squares, result.table)
        return result
    if pooling is Pooling.MARGINALS:
        raise ValueError("maps pooled as marginals must be as fine as the tree's grid and aligned with it")
    taps = grid.taps(found)
    result.table[:, -1] = taps.weights
    width = values.shape[1]
    if pooling is Pooling.WORDS:
        kernels.apply_taps_to_words(*taps[:3], values.reshape(-1), width, result.table)
    else:
        flat = values.reshape(-1, values.shape[2])
        kernels.apply_taps(*taps[:3], flat, width, pooling is Pooling.MOMENTS, result.table)
    return result


def sum_up(rows: NDArray[np.float64], parents: NDArray[np.int32], regions: int) -> NDArray[np.float64]:
    """Sum one layer's rows [n, columns] into the rows of the `regions` of the layer above."""
    above = np.zeros((regions, rows.shape[1]))
    kernels.add_rows(rows, parents, above)
    return above


def _geometry(found: Map) -> tuple[int, int, int | None]:
    return found.values.shape[0], found.values.shape[1], found.stride


def _cells(
    places: NDArray[np.float64], cells: int, smooth: bool
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The map row (or column) before each place (0-1 along the map), and the distance beyond its centre."""
    if not smooth:
        return np.minimum((places * cells).astype(np.int64), cells - 1), np.zeros(len(places), np.float32)
    position = np.clip(places * cells - 0.5, 0, cells - 1)
    before = position.astype(np.int64)
    return before, (position - before).astype(np.float32)
