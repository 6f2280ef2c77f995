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
"""Weights of one level of brightness; strong edges saturate, since they part regions in any case."""

BUCKETS = 256

BAND = 1 << 16
"""Pixels that are merged together, so that what is looked up at random stays in the processor's cache."""


@njit(cache=True, nogil=True)
def edge_weights(
    image: NDArray[np.uint8], parents: NDArray[np.int32], step: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Quantised colour distance of each pixel to its right and to its lower neighbour, uint8[h, w] each.

    parents: int32[ceil(h / step), ceil(w / step)], regions whose outlines become `OUTLINE`.
    """
    h, w, _ = image.shape
    right = np.empty((h, w), np.uint8)
    down = np.empty((h, w), np.uint8)
    steps, half, most = np.float32(STEPS), np.float32(0.5), np.float32(OUTLINE - 1)
    for y in range(h):
        here = image[y]
        for x in range(w - 1):
            r = np.int32(here[x, 0]) - np.int32(here[x + 1, 0])
            g = np.int32(here[x, 1]) - np.int32(here[x + 1, 1])
            b = np.int32(here[x, 2]) - np.int32(here[x + 1, 2])
            right[y, x] = np.uint8(min(np.sqrt(np.float32(r * r + g * g + b * b)) * steps + half, most))
        right[y, w - 1] = OUTLINE
        if y == h - 1:
            down[y] = OUTLINE
        else:
            below = image[y + 1]
            for x in range(w):
                r = np.int32(here[x, 0]) - np.int32(below[x, 0])
                g = np.int32(here[x, 1]) - np.int32(below[x, 1])
                b = np.int32(here[x, 2]) - np.int32(below[x, 2])
                down[y, x] = np.uint8(min(np.sqrt(np.float32(r * r + g * g + b * b)) * steps + half, most))
    for y in range(h):
        row = parents[y // step]
        for column in range(1, parents.shape[1]):
            if row[column] != row[column - 1]:
                right[y, column * step - 1] = OUTLINE
    for line in range(1, parents.shape[0]):
        for x in range(w):
            if parents[line, x // step] != parents[line - 1, x // step]:
                down[line * step - 1, x] = OUTLINE
    return right, down


@njit(cache=True, nogil=True)
def sort_edges(
    right: NDArray[np.uint8], down: NDArray[np.uint8], parents: NDArray[np.int32], step: int, count: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Edges in the order of their weights, and those weights; outlines are left out.

    Regions of the layer above do not touch each other's pixels, so large images are merged by bands of such
    regions (their numbers run down the image): within each band edges are sorted by weight.
    count: regions in `parents`.
    """
    h, w = right.shape
    bands = min(count, 1 + h * w // BAND)
    band_of = np.arange(count) * bands // count * BUCKETS
    run = step if bands > 1 else w  # pixels of a row that are known to lie in one band
    places = np.zeros(bands * BUCKETS, np.int64)
    for y in range(h):
        row = parents[y // step]
        for start in range(0, w, run):
            band = band_of[row[start // step]]
            for x in range(start, min(w, start + run)):
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
        for start in range(0, w, run):
            band = band_of[row[start // step]]
            for x in range(start, min(w, start + run)):
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

    All is unsigned, which spares a test for negative indices at every step.
    """
    above = root[item]
    while above != item:
        item = root[above]
        root[above] = root[item]
        above = root[item]
    return item


@njit(cache=True, nogil=True)
def merge_pixels(
    edges: NDArray[np.uint32], weights: NDArray[Any], shape: tuple[int, int], k: float, smallest: int
) -> NDArray[np.uint32]:
    """Felzenszwalb-Huttenlocher merging over sorted edges; returns each pixel's root, uint32[h * w].

    Two components merge over an edge of weight w if w <= Int(C) + k / |C| for both (in single precision).
    Then components of fewer than `smallest` pixels are merged over their lightest edge; those that have no
    edge left stay. `edges` is used up.
    """
    h, w = shape
    root = np.arange(h * w).astype(np.uint32)
    size = np.ones(h * w, np.int32)
    tolerance = np.full(h * w, k, np.float32)
    reach = np.array([1, w], np.uint32)
    refused = 0
    for place in range(edges.size):
        edge = edges[place]
        pixel = np.uint32(edge >> np.uint32(1))
        a = find(root, pixel)
        b = find(root, np.uint32(pixel + reach[edge & np.uint32(1)]))
        if a == b:
            continue
        if weights[place] <= tolerance[a] and weights[place] <= tolerance[b]:
            if size[a] < size[b]:
                a, b = b, a
            root[b] = a
            size[a] += size[b]
            tolerance[a] = weights[place] + k / size[a]
        else:
            edges[refused] = edge
            refused += 1
    for place in range(refused):
        edge = edges[place]
        pixel = np.uint32(edge >> np.uint32(1))
        a = find(root, pixel)
        b = find(root, np.uint32(pixel + reach[edge & np.uint32(1)]))
        if a != b and (size[a] < smallest or size[b] < smallest):
            if size[a] < size[b]:
                a, b = b, a
            root[b] = a
            size[a] += size[b]
    return root


@njit(cache=True, nogil=True)
def number_regions(
    root: NDArray[np.uint32], shape: tuple[int, int]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Number the sets in the raster order of their first pixels: int32[h, w], and those pixels."""
    number = np.full(root.size, -1, np.int32)
    regions = np.empty(root.size, np.int32)
    starts = np.empty(root.size, np.int32)
    count = 0
    for pixel in range(root.size):
        home = find(root, np.uint32(pixel))
        if number[home] < 0:
            number[home] = count
            starts[count] = pixel
            count += 1
        regions[pixel] = number[home]
    return regions.reshape(shape), starts[:count].copy()


@njit(cache=True, nogil=True)
def measure_regions(
    regions: NDArray[np.int32], count: int, image: NDArray[np.uint8], stride: int, size: tuple[int, int]
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
    """Grid pixels and mean colour float64[n, 4], frame pixels int32[n] and boxes int32[n, 4] of regions.

    stride: side of a grid pixel in the frame of `size`, whose border may cut the last ones.
    """
    h, w = regions.shape
    height, width = size
    means = np.zeros((count, 4))
    areas = np.zeros(count, np.int32)
    boxes = np.empty((count, 4), np.int32)
    boxes[:, :2] = np.iinfo(np.int32).max
    boxes[:, 2:] = 0
    for y in range(h):
        top, bottom = y * stride, min(height, (y + 1) * stride)
        for x in range(w):
            left, right = x * stride, min(width, (x + 1) * stride)
            region = np.uint32(regions[y, x])
            means[region, 0] += 1
            means[region, 1] += image[y, x, 0]
            means[region, 2] += image[y, x, 1]
            means[region, 3] += image[y, x, 2]
            areas[region] += (bottom - top) * (right - left)
            boxes[region, 0] = min(boxes[region, 0], top)
            boxes[region, 1] = min(boxes[region, 1], left)
            boxes[region, 2] = bottom
            boxes[region, 3] = max(boxes[region, 3], right)
    for channel in range(1, 4):
        means[:, channel] /= means[:, 0]
    return means, areas, boxes
