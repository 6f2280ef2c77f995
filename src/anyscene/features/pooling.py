"""From maps to regions: what a region keeps of the map under it.

A map covers a rectangle of the frame at any resolution. It is pooled onto the regions of a `Grid` as sums,
which add up over pieces of the frame and up the tree; only then are they made into means or histograms.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.features import pooling_kernels as kernels
from anyscene.features.view import Rect

MARGINAL_BINS = 8


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
        divisor = np.maximum(weights, 1e-12)[:, None]
        kept = np.empty(sums.shape, np.float32)
        np.divide(sums, divisor, out=kept, casting="same_kind")
        if self in (Pooling.MOMENTS, Pooling.MARGINALS):
            # In double precision: the difference of two large numbers.
            channels = sums.shape[1] // self.columns(1)
            mean, square = np.split(sums[:, : 2 * channels] / divisor, 2, axis=1)
            kept[:, channels : 2 * channels] = np.sqrt(np.maximum(square - mean * mean, 0))
        return kept


@dataclass(frozen=True, eq=False)
class Piece:
    """A map of part of the frame.

    values: [h', w', channels], or [h', w'] of words; cell (0, 0) has its corner at the corner of `rect`.
    rect: what the map covers, evenly; it may reach beyond the frame by less than one cell.
    smooth: whether a grid pixel takes its value from the cells around it, bilinearly, or from the cell that
        it lies in. Only the latter lets neighbouring pieces be pooled apart.
    """

    values: NDArray[Any]
    rect: Rect
    smooth: bool = False


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
    _taps: dict[tuple[int, int, Rect, bool], Taps] = field(default_factory=dict, repr=False)

    def window(self, rect: Rect) -> Rect:
        """The grid pixels whose blocks lie wholly inside `rect`, in grid coordinates."""
        height, width = self.size
        rows, columns = self.pixels.shape
        top, left = -(-max(rect.top, 0) // self.stride), -(-max(rect.left, 0) // self.stride)
        bottom = rows if rect.bottom >= height else max(top, rect.bottom // self.stride)
        right = columns if rect.right >= width else max(left, rect.right // self.stride)
        return Rect(min(top, rows), min(left, columns), bottom, right)

    @cached_property
    def areas(self) -> NDArray[np.int64]:
        """Grid pixels of each region."""
        return self._count(Rect(0, 0, *self.pixels.shape))

    def count(self, window: Rect) -> NDArray[np.int64]:
        """Grid pixels of each region within a window of the grid."""
        return self.areas if window == (0, 0, *self.pixels.shape) else self._count(window)

    def _count(self, window: Rect) -> NDArray[np.int64]:
        counts = np.zeros(self.regions, np.int64)
        kernels.count_pixels(self.pixels, window.top, window.bottom, window.left, window.right, counts)
        return counts

    def is_direct(self, piece: Piece) -> bool:
        """Whether every cell of a map lies in just one grid pixel, so that the map is summed cell by cell."""
        rect, (rows, columns) = piece.rect, piece.values.shape[:2]
        step = rect.height // rows
        return (
            not piece.smooth
            and step > 0
            and rect.height == step * rows
            and rect.width == step * columns
            and self.stride % step == 0
            and rect.top % self.stride == 0
            and rect.left % self.stride == 0
        )

    def needs_taps(self, piece: Piece) -> bool:
        """Whether pooling a map would build taps that are not in hand."""
        return not self.is_direct(piece) and _geometry(piece) not in self._taps

    def taps(self, piece: Piece) -> Taps:
        """Weights of the regions onto the cells of a map; maps of the same geometry share them."""
        key = height, width, rect, _ = _geometry(piece)
        if key not in self._taps:
            window = self.window(rect)
            rows = (np.arange(window.top, window.bottom) + 0.5) * self.stride - rect.top
            columns = (np.arange(window.left, window.right) + 0.5) * self.stride - rect.left
            self._taps[key] = Taps(
                *kernels.build_taps(
                    self.pixels,
                    window.top,
                    window.left,
                    *_cells(rows / rect.height, height, piece.smooth),
                    *_cells(columns / rect.width, width, piece.smooth),
                    width,
                    self.regions,
                )
            )
        return self._taps[key]


@dataclass(eq=False)
class Sums:
    """What pooling gives each region of a layer.

    table: float64[n, columns + 2]: the sums, then the weight by which they are to be divided, then how many
    of the region's grid pixels were covered. One table, since all of it adds up in the same way.
    """

    table: NDArray[np.float64]

    @classmethod
    def zeros(cls, regions: int, columns: int) -> Sums:
        """Nothing pooled yet."""
        return cls(np.zeros((regions, columns + 2)))

    @property
    def sums(self) -> NDArray[np.float64]:
        """The sums, float64[n, columns]."""
        return self.table[:, :-2]

    @property
    def weights(self) -> NDArray[np.float64]:
        """What the sums are divided by, float64[n]."""
        return self.table[:, -2]

    @property
    def inside(self) -> NDArray[np.float64]:
        """Grid pixels covered, float64[n]."""
        return self.table[:, -1]


def average(piece: Piece, blocks: int) -> Sums:
    """The sums of a single region that is the whole frame, of so many blocks: the mean of a map's cells."""
    cells = piece.values.reshape(-1, piece.values.shape[2])
    table = np.full((1, cells.shape[1] + 2), blocks, np.float64)
    table[:, :-2] = cv2.reduce(cells, 0, cv2.REDUCE_SUM, dtype=cv2.CV_64F) * (blocks / len(cells))
    return Sums(table)


def pool(piece: Piece, pooling: Pooling, channels: int, grid: Grid) -> Sums:
    """Sum a piece over the regions of a grid; `channels` is the vocabulary of WORDS."""
    result = Sums.zeros(grid.regions, pooling.columns(channels))
    window = grid.window(piece.rect)
    if window.area == 0:
        return result
    result.table[:, -1] = grid.count(window)
    values, rect = piece.values, piece.rect
    if grid.is_direct(piece):
        step = rect.height // values.shape[0]
        rows = _blocks(rect.top, values.shape[0], step, grid.stride, window.top, window.bottom)
        columns = _blocks(rect.left, values.shape[1], step, grid.stride, window.left, window.right)
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
    taps = grid.taps(piece)
    result.table[:, -2] = taps.weights
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


def _geometry(piece: Piece) -> tuple[int, int, Rect, bool]:
    return piece.values.shape[0], piece.values.shape[1], piece.rect, piece.smooth


def _blocks(start: int, cells: int, step: int, stride: int, first: int, last: int) -> NDArray[np.int64]:
    """The grid row (or column) under each of a map's, -1 outside [first, last)."""
    under = (start + step * np.arange(cells)) // stride
    return np.where((under >= first) & (under < last), under, -1)


def _cells(
    places: NDArray[np.float64], cells: int, smooth: bool
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The map row (or column) before each place (0-1 along the map), and the distance beyond its centre."""
    if not smooth:
        return np.minimum((places * cells).astype(np.int64), cells - 1), np.zeros(len(places), np.float32)
    position = np.clip(places * cells - 0.5, 0, cells - 1)
    before = position.astype(np.int64)
    return before, (position - before).astype(np.float32)
