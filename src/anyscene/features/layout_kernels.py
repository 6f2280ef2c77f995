"""Kernels of the layout classifier: channel sums over rectangles near a point, and boosted trees on them."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.generic]


@njit(cache=True, nogil=True)
def integrate(channels: Array, integral: Array) -> None:
    """Sums of channels[h, w, c] above and left of each corner, float32[c, h + 1, w + 1]; zeros on entry.

    Running sums are kept in double precision: rounding must not grow with the image.
    """
    rows, columns, count = channels.shape
    for c in range(count):
        column_sums = np.zeros(columns + 1)
        for y in range(rows):
            row_sum = 0.0
            for x in range(columns):
                row_sum += channels[y, x, c]
                column_sums[x + 1] += row_sum
                integral[c, y + 1, x + 1] = column_sums[x + 1]


@njit(cache=True, nogil=True)
def filter_means(
    integral: Array, filters: Array, rows: Array, columns: Array, places: Array, values: Array
) -> None:
    """The mean of a channel over a rectangle near each point, for every filter.

    filters: int32[f, 5], channel and the rectangle's top, left, bottom and right relative to the point.
    rows, columns: int32[n], the points. places: float32[n, 2], kept as the first two columns of the values.
    values: float32[n, 2 + f]. Rectangles are cut to the image, and hold at least the pixel nearest to them.
    """
    height, width = integral.shape[1] - 1, integral.shape[2] - 1
    for n in range(rows.shape[0]):
        value = values[n]
        value[0], value[1] = places[n, 0], places[n, 1]
        row, column = rows[n], columns[n]
        for f in range(filters.shape[0]):
            window = filters[f]
            top = min(max(row + window[1], 0), height - 1)
            left = min(max(column + window[2], 0), width - 1)
            bottom = max(min(row + window[3], height), top + 1)
            right = max(min(column + window[4], width), left + 1)
            area = np.float32((bottom - top) * (right - left))
            sums = integral[window[0]]
            upper, lower = sums[np.uint64(top)], sums[np.uint64(bottom)]
            start, end = np.uint64(left), np.uint64(right)
            value[2 + f] = (lower[end] - upper[end] - lower[start] + upper[start]) / area


@njit(cache=True, nogil=True)
def add_trees(values: Array, feature: Array, threshold: Array, leaf: Array, scores: Array) -> None:
    """Add to scores[n, k] the leaf of every tree that values[n, d] fall into.

    Trees are complete and of one depth: feature int32[t, 2^depth - 1] and threshold float32 of the same shape
    in heap order (children of i: 2 i + 1 and 2 i + 2; left if value <= threshold). leaf: float32[t, 2^depth,
    k].
    """
    trees, inner = feature.shape
    classes = scores.shape[1]
    depth = 0
    while 2**depth <= inner:
        depth += 1
    for n in range(values.shape[0]):
        value, score = values[n], scores[n]
        for t in range(trees):
            node = np.uint64(0)
            asked, split = feature[t], threshold[t]
            for _ in range(depth):
                above = value[np.uint64(asked[node])] > split[node]
                node = node + node + np.uint64(1) + np.uint64(above)
            chosen = leaf[t, node - np.uint64(inner)]
            for k in range(classes):
                score[k] += chosen[k]
