"""Where a layer's regions lie and what they look like, from the tree alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.features import pooling_kernels as kernels
from anyscene.features.pooling import Grid

Column = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Shapes:
    """One row for each region of a layer; lengths are shares of the frame's width and height.

    area: share of the frame.
    center: float32[n, 2], y and x. spread: float32[n, 2], standard deviations along y and x.
    correlation: float32[n], between y and x. box: float32[n, 4], top, left, bottom, right.
    contact: float32[n, 4], share of the top, bottom, left and right border of the frame that it holds.
    pixel_area, pixel_spread, pixel_box: the same in grid pixels, for what depends on true proportions.
    """

    area: Column
    center: NDArray[np.float32]
    spread: NDArray[np.float32]
    correlation: Column
    box: NDArray[np.float32]
    contact: NDArray[np.float32]
    pixel_area: Column
    pixel_spread: NDArray[np.float32]
    pixel_box: NDArray[np.float32]


def shape_sums(grid: Grid) -> NDArray[np.float64]:
    """Sums over the regions of a grid from which shapes are made, float64[n, 10]; they add up the tree."""
    sums = np.zeros((grid.regions, 10))
    kernels.add_shapes(grid.pixels, sums)
    return sums


def shapes_from_sums(
    sums: NDArray[np.float64], boxes: NDArray[np.integer], stride: int, size: tuple[int, int]
) -> Shapes:
    """Shapes from `shape_sums` on a grid of that stride over a frame of that size.

    boxes: of the same regions, int[n, 4]: top, left, bottom, right in frame pixels, the latter two exclusive.
    """
    height, width = size
    rows, columns = -(-height // stride), -(-width // stride)
    count = np.maximum(sums[:, 0], 1)
    x, y = sums[:, 1] / count, sums[:, 2] / count
    # A block is not a point: its own variance of 1/12 also keeps that of one-pixel regions above zero.
    variance_x = np.maximum(sums[:, 3] / count - x * x, 0) + 1 / 12
    variance_y = np.maximum(sums[:, 4] / count - y * y, 0) + 1 / 12
    covariance = sums[:, 5] / count - x * y
    extent = np.array([rows, columns])
    spread = np.sqrt(np.stack([variance_y, variance_x], 1))
    return Shapes(
        area=_f32(sums[:, 0] / (rows * columns)),
        center=_f32(np.stack([y + 0.5, x + 0.5], 1) / extent),
        spread=_f32(spread / extent),
        correlation=_f32(covariance / (spread[:, 0] * spread[:, 1])),
        box=_f32(boxes / np.array([height, width, height, width])),
        contact=_f32(sums[:, 6:10] / np.array([columns, columns, rows, rows])),
        pixel_area=_f32(sums[:, 0]),
        pixel_spread=_f32(spread),
        pixel_box=_f32(boxes / stride),
    )


def _f32(values: NDArray[np.floating]) -> NDArray[np.float32]:
    return values.astype(np.float32)
