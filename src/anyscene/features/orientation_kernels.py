"""Kernels for histograms of gradient directions over square cells, which HOG and SIFT are made of."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.generic]


@njit(cache=True, nogil=True)
def add_orientations(strength: Array, position: Array, cell: int, bins: int, cells: Array) -> None:
    """Add each pixel's gradient to its four nearest cells and two nearest directions, by linear weights.

    strength: float32[h, w]. position: float32[h, w], direction in units of bins, taken modulo `bins`; bin k
    is centred on k. cells: float32[ceil(h / cell) + 2, (ceil(w / cell) + 2) * (bins + 1)] of zeros, with a
    border of one cell that takes what falls beyond the outermost centres. The caller adds a cell's last bin
    to its first, which spares a wrap for each pixel.
    """
    rows, columns = strength.shape
    width = bins + 1
    # One more, in case rounding turns a direction to just `bins`.
    across = np.zeros(cells.shape[1] + 1, np.float32)
    cell_start = np.empty(columns, np.int32)
    right_share = np.empty(columns, np.float32)
    for x in range(columns):
        place = (x + 0.5) / cell + 0.5
        cell_start[x] = int(place) * width
        right_share[x] = place - int(place)
    slot, parts = np.empty(columns, np.int32), np.empty((2, columns), np.float32)
    for y in range(rows):
        _part(strength[y], position[y], bins, cell_start, slot, parts)
        across[:] = 0
        for x in range(columns):
            start = np.uint64(slot[x])
            beside = start + np.uint64(width)
            early, late = parts[0, x], parts[1, x]
            right = right_share[x]
            left = np.float32(1) - right
            across[start] += left * early
            across[start + np.uint64(1)] += left * late
            across[beside] += right * early
            across[beside + np.uint64(1)] += right * late
        place_y = (y + 0.5) / cell + 0.5
        top = int(place_y)
        low = np.float32(place_y - top)
        high = np.float32(1) - low
        upper, lower = cells[top], cells[top + 1]
        for k in range(upper.shape[0]):
            upper[k] += high * across[k]
            lower[k] += low * across[k]


@njit(cache=True, nogil=True)
def add_blocks(strength: Array, position: Array, bins: int, window: Array, blocks: Array) -> None:
    """Sum HOG's blocks: 2 by 2 cells of 8 by 8 pixels, each cell with a window that depends on its place.

    strength, position: as in `add_orientations`. window: float32[16], the weight of the block's pixels in its
    first cell along an axis; the second cell's is the mirror image.
    blocks: float32[2, 2, r + 1, (c + 1) * (bins + 1)] of zeros, by cell along y and along x, then by block;
    block (i, j) starts at pixel (8 i - 8, 8 j - 8), so that blocks at the border are half empty. The caller
    adds the last bin to the first, as in `add_orientations`.
    """
    rows, columns = strength.shape
    width = bins + 1
    line = blocks.shape[3]
    # By cell along x (the first, then the second), then block, then direction.
    across = np.zeros(2 * line + 1, np.float32)
    cell_start = np.empty(columns, np.int32)
    for x in range(columns):
        cell_start[x] = (x >> 3) * width
    slot, parts = np.empty(columns, np.int32), np.empty((2, columns), np.float32)
    for y in range(rows):
        _part(strength[y], position[y], bins, cell_start, slot, parts)
        across[:] = 0
        for x in range(columns):
            offset = x & 7
            early, late = parts[0, x], parts[1, x]
            # The pixel is in the second half of the block before and in the first half of the one after.
            before = np.uint64(slot[x])
            after = before + np.uint64(width)
            across[before] += window[8 + offset] * early
            across[before + np.uint64(1)] += window[8 + offset] * late
            across[after] += window[offset] * early
            across[after + np.uint64(1)] += window[offset] * late
            before += np.uint64(line)
            after += np.uint64(line)
            across[before] += window[7 - offset] * early
            across[before + np.uint64(1)] += window[7 - offset] * late
            across[after] += window[15 - offset] * early
            across[after + np.uint64(1)] += window[15 - offset] * late
        block, offset = y >> 3, y & 7
        for side in range(2):
            here = across[side * line : (side + 1) * line]
            upper_before, lower_before = blocks[0, side, block], blocks[1, side, block]
            upper_after, lower_after = blocks[0, side, block + 1], blocks[1, side, block + 1]
            for k in range(line):
                upper_before[k] += window[8 + offset] * here[k]
                lower_before[k] += window[7 - offset] * here[k]
                upper_after[k] += window[offset] * here[k]
                lower_after[k] += window[15 - offset] * here[k]


@njit(cache=True, nogil=True)
def _part(strength: Array, position: Array, bins: int, cell_start: Array, slot: Array, parts: Array) -> None:
    """Part the gradients of a row of pixels between the two bins that are nearest to their directions.

    cell_start: int32[w], the first bin of each pixel's cell. slot: int32[w], the earlier of the two bins.
    parts: float32[2, w], the strength that goes into the earlier and into the later bin.
    """
    turn, turns = np.float32(bins), np.float32(1 / bins)
    for x in range(len(strength)):
        turned = position[x] - turn * np.floor(position[x] * turns)
        first = np.floor(turned)
        slot[x] = np.int32(first) + cell_start[x]
        late = strength[x] * (turned - first)
        parts[0, x], parts[1, x] = strength[x] - late, late


@njit(cache=True, nogil=True, fastmath=True)
def normalize_blocks(sums: Array, blocks: Array) -> None:
    """Clip and normalise HOG's blocks (L2-Hys).

    sums: float32[2, 2, rows, columns, bins], as `add_blocks` orders them.
    blocks: float32[rows, columns, 4 * bins]: upper left, lower left, upper right and lower right cell, the
    order of OpenCV's.
    """
    bins = sums.shape[4]
    block = np.empty(4 * bins, np.float32)
    for y in range(blocks.shape[0]):
        for x in range(blocks.shape[1]):
            for part in range(4):
                values = sums[part % 2, part // 2, y, x]
                here = block[part * bins : (part + 1) * bins]
                for k in range(bins):
                    here[k] = values[k]
            _normalize(block, np.float32(0.1 * block.shape[0]), blocks[y, x])


@njit(cache=True, nogil=True, fastmath=True)
def gather_descriptors(cells: Array, window: Array, descriptors: Array) -> None:
    """SIFT descriptors: 4 by 4 cells each, weighted by a window, clipped and normalised.

    cells: float32[2 * r + 2, (2 * c + 2) * 8], the directions of a row of cells one after the other.
    window: float32[4, 32], a weight for each value. descriptors: float32[r, c, 128]; descriptor (i, j) takes
    the cells from (2 i, 2 j) on.
    """
    descriptor = np.empty(128, np.float32)
    for i in range(descriptors.shape[0]):
        for j in range(descriptors.shape[1]):
            for y in range(4):
                values = cells[2 * i + y, 16 * j : 16 * j + 32]
                part, weights = descriptor[32 * y : 32 * y + 32], window[y]
                for k in range(32):
                    part[k] = values[k] * weights[k]
            _normalize(descriptor, np.float32(1e-6), descriptors[i, j])


@njit(cache=True, nogil=True, fastmath=True)
def _normalize(vector: Array, floor: float, result: Array) -> None:
    """To unit length, no element above 0.2, to unit length again; `floor` keeps faint vectors short."""
    energy = np.float32(0)
    for k in range(vector.shape[0]):
        energy += vector[k] * vector[k]
    scale = np.float32(1) / (np.sqrt(energy) + floor)
    energy = np.float32(0)
    for k in range(vector.shape[0]):
        value = min(vector[k] * scale, np.float32(0.2))
        vector[k] = value
        energy += value * value
    scale = np.float32(1) / (np.sqrt(energy) + np.float32(1e-3))
    for k in range(vector.shape[0]):
        result[k] = vector[k] * scale
