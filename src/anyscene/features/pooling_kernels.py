"""Kernels that add a map to the sums of the regions under it.

A *direct* kernel visits every pixel of a map at least as fine as the tree's grid: `rows[y]` and `columns[x]`
are the grid pixel under map pixel (y, x); the weight goes to the last column of the table (see
`pooling.Sums`). Coarser maps go through *taps*: sparse weights from regions to map cells, the same for every
channel and so built once for a geometry.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.generic]


@njit(cache=True, nogil=True)
def add_values(
    values: Array, rows: Array, columns: Array, pixels: Array, squares: bool, table: Array
) -> None:
    """Add values[h, w, c] to table[n, :c], and their squares to table[n, c:2c] when asked."""
    channels = values.shape[2]
    for y in range(rows.shape[0]):
        for x in range(columns.shape[0]):
            value, total = values[y, x], _counted(table, pixels[rows[y], columns[x]])
            for c in range(channels):
                total[c] += value[c]
            if squares:
                for c in range(channels):
                    total[channels + c] += value[c] * value[c]


@njit(cache=True, nogil=True)
def add_words(words: Array, rows: Array, columns: Array, pixels: Array, table: Array) -> None:
    """Count words[h, w] in table[n, vocabulary + 1]."""
    for y in range(rows.shape[0]):
        for x in range(columns.shape[0]):
            total = _counted(table, pixels[rows[y], columns[x]])
            total[words[y, x]] += 1


@njit(cache=True, nogil=True)
def add_marginals(values: Array, rows: Array, columns: Array, pixels: Array, table: Array) -> None:
    """Add bytes values[h, w, c] to table[n, 10 c + 1]: sums, squares, a histogram of 8 bins a channel."""
    channels = values.shape[2]
    for y in range(rows.shape[0]):
        for x in range(columns.shape[0]):
            total = _counted(table, pixels[rows[y], columns[x]])
            for c in range(channels):
                value = int(values[y, x, c])
                total[c] += value
                total[channels + c] += value * value
                total[2 * channels + 8 * c + (value >> 5)] += 1


@njit(cache=True, nogil=True)
def _counted(table: Array, region: int) -> Array:
    """A region's row of the table, with one more cell in its weight."""
    total: Array = table[region]
    total[table.shape[1] - 1] += 1
    return total


@njit(cache=True, nogil=True)
def build_taps(
    pixels: Array,
    row_cells: Array,
    row_fractions: Array,
    column_cells: Array,
    column_fractions: Array,
    map_width: int,
    regions: int,
) -> tuple[Array, Array, Array, Array]:
    """Weights with which each region samples each cell of a map, bilinearly at every grid pixel.

    Grid pixels of a region between the same four cells share one tap, which makes many channels cheap.

    row_cells[i], row_fractions[i]: the upper of the two map rows around grid row i, and how far below it the
    grid row lies (0 to 1); columns alike.

    Returns (region int32[t], cell int32[t], corner weights float32[t, 4], weight float32[regions]).
    """
    grid_rows, grid_columns = row_cells.shape[0], column_cells.shape[0]
    tap_region = np.empty(grid_rows * grid_columns, np.int32)
    tap_cell = np.empty(grid_rows * grid_columns, np.int32)
    tap_weights = np.empty((grid_rows * grid_columns, 4), np.float32)
    weights = np.zeros(regions, np.float32)
    tap_of_region = np.full(regions, -1, np.int32)
    taps = 0
    top = 0
    while top < grid_rows:
        bottom = top + 1
        while bottom < grid_rows and row_cells[bottom] == row_cells[top]:
            bottom += 1
        left = 0
        while left < grid_columns:
            right = left + 1
            while right < grid_columns and column_cells[right] == column_cells[left]:
                right += 1
            block_start = taps
            for i in range(top, bottom):
                below = row_fractions[i]
                j = left
                while j < right:
                    region = pixels[i, j]
                    run_start = j
                    aside = column_fractions[j]
                    j += 1
                    while j < right and pixels[i, j] == region:
                        aside += column_fractions[j]
                        j += 1
                    run = np.float32(j - run_start)
                    weights[region] += run
                    tap = tap_of_region[region]
                    if tap < block_start:
                        tap = taps
                        taps += 1
                        tap_of_region[region] = tap
                        tap_region[tap] = region
                        tap_cell[tap] = row_cells[top] * map_width + column_cells[left]
                        tap_weights[tap] = 0
                    tap_weights[tap, 0] += (1 - below) * (run - aside)
                    tap_weights[tap, 1] += (1 - below) * aside
                    tap_weights[tap, 2] += below * (run - aside)
                    tap_weights[tap, 3] += below * aside
            left = right
        top = bottom
    return tap_region[:taps], tap_cell[:taps], tap_weights[:taps], weights


@njit(cache=True, nogil=True)
def apply_taps(
    tap_region: Array,
    tap_cell: Array,
    tap_weights: Array,
    values: Array,
    map_width: int,
    squares: bool,
    table: Array,
) -> None:
    """Add values[cells, c] to table[n, :c] through taps, and their squares to table[n, c:2c] when asked."""
    cells, channels = values.shape
    for tap in range(tap_region.shape[0]):
        total = table[tap_region[tap]]
        first = tap_cell[tap]
        # At the far edges of the map the neighbour does not exist, and its weight is zero.
        right = min(first + 1, cells - 1)
        below = min(first + map_width, cells - 1)
        across = min(first + map_width + 1, cells - 1)
        w00, w01, w10, w11 = (
            tap_weights[tap, 0],
            tap_weights[tap, 1],
            tap_weights[tap, 2],
            tap_weights[tap, 3],
        )
        v00, v01, v10, v11 = values[first], values[right], values[below], values[across]
        for c in range(channels):
            total[c] += w00 * v00[c] + w01 * v01[c] + w10 * v10[c] + w11 * v11[c]
        if squares:
            for c in range(channels):
                total[channels + c] += (
                    w00 * v00[c] * v00[c]
                    + w01 * v01[c] * v01[c]
                    + w10 * v10[c] * v10[c]
                    + w11 * v11[c] * v11[c]
                )


@njit(cache=True, nogil=True)
def apply_taps_to_words(
    tap_region: Array, tap_cell: Array, tap_weights: Array, words: Array, map_width: int, table: Array
) -> None:
    """Count words[cells] in table[n, vocabulary + 1], each with the weight of its tap."""
    cells = words.shape[0]
    for tap in range(tap_region.shape[0]):
        region = tap_region[tap]
        first = tap_cell[tap]
        for corner in range(4):
            weight = tap_weights[tap, corner]
            if weight > 0:
                cell = min(first + (corner // 2) * map_width + corner % 2, cells - 1)
                table[region, words[cell]] += weight


@njit(cache=True, nogil=True)
def add_shapes(pixels: Array, sums: Array) -> None:
    """Add to sums[n, 10]: pixels, x, y, xx, yy, xy, and pixels on the top, bottom, left and right border.

    x and y count grid pixels. Rows are taken in runs of one region, over which the sums have closed forms.
    """
    rows, columns = pixels.shape
    for y in range(rows):
        start = 0
        while start < columns:
            region = pixels[y, start]
            end = start + 1
            while end < columns and pixels[y, end] == region:
                end += 1
            run = end - start
            sum_x = (start + end - 1) * run / 2
            sum_xx = ((end - 1) * end * (2 * end - 1) - (start - 1) * start * (2 * start - 1)) / 6
            total = sums[region]
            total[0] += run
            total[1] += sum_x
            total[2] += y * run
            total[3] += sum_xx
            total[4] += y * y * run
            total[5] += y * sum_x
            if y == 0:
                total[6] += run
            if y == rows - 1:
                total[7] += run
            if start == 0:
                total[8] += 1
            if end == columns:
                total[9] += 1
            start = end


@njit(cache=True, nogil=True)
def add_rows(rows: Array, parents: Array, parent_rows: Array) -> None:
    """Sum the rows of one layer into those of the layer above."""
    for region in range(parents.shape[0]):
        parent = parents[region]
        for c in range(rows.shape[1]):
            parent_rows[parent, c] += rows[region, c]
