"""Compiled kernels of the pixel graph: weights, their sorting, Felzenszwalb-Huttenlocher merging.

Pixels are numbered in raster order. Edge `2 * p` joins pixel p with its right neighbour, `2 * p + 1` with the
one below. Edges of equal weight are taken in the order of their numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

OUTLINE = 255
"""Weight of an edge that nothing may merge over: an outline of the layer above, or the image's border."""

STEPS = 2
"""Steps of weight for one level of brightness. Strong edges saturate: they part regions in any case."""

BUCKETS = 256

BAND = 1 << 16
"""The pixels that are merged together. What is looked up at random then stays in the processor's cache."""


@njit(cache=True, nogil=True)
def quarter(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Mean of each 4x4 block, uint8[ceil(h / 4), ceil(w / 4), 3]; the last row and column fill cut blocks."""
    h, w, _ = image.shape
    rows, columns = (h + 3) // 4, (w + 3) // 4
    small = np.empty((rows, 3 * columns), np.uint8)
    lines = image.reshape(h, 3 * w)
    # Whole lines are added up first, which the processor does many bytes at a time.
    column_sums = np.empty(12 * columns, np.uint16)
    sums = np.empty(12 * columns, np.uint16)
    for row in range(rows):
        top = 4 * row
        a, b, c, d = (
            lines[top],
            lines[min(top + 1, h - 1)],
            lines[min(top + 2, h - 1)],
            lines[min(top + 3, h - 1)],
        )
        for i in range(3 * w):
            column_sums[i] = np.uint16(a[i]) + np.uint16(b[i]) + np.uint16(c[i]) + np.uint16(d[i])
        for i in range(3 * w, 12 * columns):
            column_sums[i] = column_sums[i - 3]
        for i in range(12 * columns - 9):
            sums[i] = column_sums[i] + column_sums[i + 3] + column_sums[i + 6] + column_sums[i + 9] + 8
        line = small[row]
        for column in range(columns):
            for channel in range(3):
                line[3 * column + channel] = sums[12 * column + channel] >> 4
    return small.reshape(rows, columns, 3)


@njit(cache=True, nogil=True)
def _copy_planes(row: NDArray[np.uint8], planes: NDArray[np.float32]) -> None:
    for x in range(row.shape[0]):
        for channel in range(3):
            planes[channel, x] = row[x, channel]


@njit(cache=True, nogil=True)
def _compare(
    one: NDArray[np.float32], other: NDArray[np.float32], offset: int, weights: NDArray[np.uint8]
) -> None:
    """Write the quantised distance of each colour of `one` to that of `other`, `offset` places further on.

    one, other : float32[3, n].
    """
    steps, half, most = np.float32(STEPS), np.float32(0.5), np.float32(OUTLINE - 1)
    for x in range(one.shape[1] - offset):
        r = one[0, x] - other[0, x + offset]
        g = one[1, x] - other[1, x + offset]
        b = one[2, x] - other[2, x + offset]
        weights[x] = np.uint8(np.int32(min(np.sqrt(r * r + g * g + b * b) * steps + half, most)))


@njit(cache=True, nogil=True)
def edge_weights(
    image: NDArray[np.uint8], parents: NDArray[np.int32], step: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Quantised colour distance of each pixel to its right and to its lower neighbour, uint8[h, w] each.

    parents : int32[ceil(h / step), ceil(w / step)], regions whose outlines become `OUTLINE`.
    """
    h, w, _ = image.shape
    right = np.empty((h, w), np.uint8)
    down = np.empty((h, w), np.uint8)
    # Two rows at a time, with a plane for each channel, so that eight neighbours are compared at once.
    here = np.empty((3, w), np.float32)
    below = np.empty((3, w), np.float32)
    _copy_planes(image[0], below)
    for y in range(h):
        here, below = below, here
        _compare(here, here, 1, right[y])
        right[y, w - 1] = OUTLINE
        if y == h - 1:
            down[y] = OUTLINE
        else:
            _copy_planes(image[y + 1], below)
            _compare(here, below, 0, down[y])
    for y in range(h):
        row = parents[y // step]
        for column in range(1, parents.shape[1]):
            if row[column] != row[column - 1]:
                right[y, column * step - 1] = OUTLINE
    for line in range(1, parents.shape[0]):
        edges = down[line * step - 1]
        for column in range(parents.shape[1]):
            if parents[line, column] != parents[line - 1, column]:
                edges[column * step : (column + 1) * step] = OUTLINE
    return right, down


@njit(cache=True, nogil=True)
def sort_edges(
    right: NDArray[np.uint8], down: NDArray[np.uint8], parents: NDArray[np.int32], step: int, count: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Edges in the order of their weights, and these weights; outlines are left out.

    Pixels never merge across regions of the layer above. So large images are merged in bands of such regions,
    whose numbers run down the image, and edges are sorted by weight within each band.

    count : the number of regions in `parents`.
    """
    h, w = right.shape
    bands = min(count, 1 + h * w // BAND)
    band_of = np.arange(count) * bands // count * BUCKETS
    # How many pixels of a row lie in one band for sure.
    runs, run = (parents.shape[1], step) if bands > 1 else (1, w)
    places = np.zeros(bands * BUCKETS, np.int64)
    for y in range(h):
        row = parents[y // step]
        for column in range(runs):
            band = band_of[row[column]]
            for x in range(column * run, min(w, (column + 1) * run)):
                places[band + right[y, x]] += 1
                places[band + down[y, x]] += 1
    total = 0
    for bucket in range(places.size):
        held = places[bucket]
        places[bucket] = total
        if bucket % BUCKETS != OUTLINE:
            total += held
    edges = np.empty(total, np.uint32)
    weights = np.empty(total, np.uint8)
    for y in range(h):
        row = parents[y // step]
        for column in range(runs):
            band = band_of[row[column]]
            for x in range(column * run, min(w, (column + 1) * run)):
                for direction in range(2):
                    weight = down[y, x] if direction else right[y, x]
                    if weight != OUTLINE:
                        place = places[band + weight]
                        places[band + weight] = place + 1
                        edges[place] = 2 * (y * w + x) + direction
                        weights[place] = weight
    return edges, weights


@njit(cache=True, nogil=True)
def find(root: NDArray[np.uint32], item: np.uint32) -> np.uint32:
    """The root of an item's set; halves the path on the way.

    Numbers are unsigned, which saves a test for negative indices at every step.
    """
    above = root[item]
    while above != item:
        item = root[above]
        root[above] = root[item]
        above = root[item]
    return item


@njit(cache=True, nogil=True)
def _join(
    a: np.uint32,
    b: np.uint32,
    root: NDArray[np.uint32],
    after: NDArray[np.uint32],
    size: NDArray[np.int32],
) -> np.uint32:
    """Merge the sets of two roots and return the common root, which is that of the larger set.

    Every pixel of the smaller set gets its new root at once. Sets are mostly small, and a pixel's root
    changes only when its set doubles, so this takes less time than searching for roots.

    after : the next pixel of the same set, in a ring.
    """
    if size[a] < size[b]:
        a, b = b, a
    size[a] += size[b]
    pixel = b
    while True:
        root[pixel] = a
        if after[pixel] == b:
            break
        pixel = after[pixel]
    after[pixel] = after[a]
    after[a] = b
    return a


@njit(cache=True, nogil=True)
def merge_pixels(
    edges: NDArray[np.uint32], weights: NDArray[Any], shape: tuple[int, int], k: float, smallest: int
) -> NDArray[np.uint32]:
    """Felzenszwalb-Huttenlocher merging over sorted edges; returns each pixel's root, uint32[h * w].

    Two components merge over an edge of weight w if w <= Int(C) + k / |C| for both (in single precision).
    Then components of fewer than `smallest` pixels merge over their lightest edge; those without an edge
    stay. `edges` is overwritten.
    """
    h, w = shape
    root = np.empty(h * w, np.uint32)
    for number in range(root.size):
        root[number] = number  # `arange` would need 8 bytes a pixel more for a moment
    after = root.copy()
    size = np.ones(h * w, np.int32)
    tolerance = np.full(h * w, k, np.float32)
    reach = np.array([1, w], np.uint32)
    refused = 0
    for place in range(edges.size):
        edge = edges[place]
        pixel = np.uint32(edge >> np.uint32(1))
        a = root[pixel]
        b = root[np.uint32(pixel + reach[edge & np.uint32(1)])]
        if a == b:
            continue
        if weights[place] <= min(tolerance[a], tolerance[b]):
            a = _join(a, b, root, after, size)
            tolerance[a] = weights[place] + k / size[a]
        else:
            edges[refused] = edge
            refused += 1
    for place in range(refused):
        edge = edges[place]
        pixel = np.uint32(edge >> np.uint32(1))
        a = root[pixel]
        b = root[np.uint32(pixel + reach[edge & np.uint32(1)])]
        if a != b and min(size[a], size[b]) < smallest:
            _join(a, b, root, after, size)
    return root


@njit(cache=True, nogil=True)
def number_regions(
    root: NDArray[np.uint32], shape: tuple[int, int], above: NDArray[np.int32], step: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Number the sets in the raster order of their first pixels: int32[h, w], and the region above each.

    above : the layer above, on a grid that is `step` times coarser.
    """
    h, w = shape
    number = np.full(root.size, -1, np.int32)
    regions = np.empty(shape, np.int32)
    parents = np.empty(root.size, np.int32)
    count = 0
    for y in range(h):
        for x in range(w):
            home = root[y * w + x]
            if number[home] < 0:
                number[home] = count
                parents[count] = above[y // step, x // step]
                count += 1
            regions[y, x] = number[home]
    return regions, parents[:count].copy()


@njit(cache=True, nogil=True)
def measure_regions(
    regions: NDArray[np.int32], count: int, image: NDArray[np.uint8], stride: int, size: tuple[int, int]
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
    """Measure regions: grid pixels and mean colour float64[n, 4], frame pixels int32[n], boxes int32[n, 4].

    stride : the side of a grid pixel in the frame of `size`, whose border may cut the last ones.
    """
    h, w = regions.shape
    height, width = size
    sums = np.zeros((count, 4), np.int64)
    areas = np.zeros(count, np.int32)
    boxes = np.empty((count, 4), np.int32)
    boxes[:, :2] = np.iinfo(np.int32).max
    boxes[:, 2:] = 0
    for y in range(h):
        top, bottom = y * stride, min(height, (y + 1) * stride)
        for x in range(w):
            left, right = x * stride, min(width, (x + 1) * stride)
            region = np.uint32(regions[y, x])
            sums[region, 0] += 1
            for channel in range(3):
                sums[region, channel + 1] += image[y, x, channel]
            areas[region] += (bottom - top) * (right - left)
            boxes[region, 0] = min(boxes[region, 0], top)
            boxes[region, 1] = min(boxes[region, 1], left)
            boxes[region, 2] = bottom
            boxes[region, 3] = max(boxes[region, 3], right)
    means = sums.astype(np.float64)
    for channel in range(1, 4):
        means[:, channel] /= means[:, 0]
    return means, areas, boxes
