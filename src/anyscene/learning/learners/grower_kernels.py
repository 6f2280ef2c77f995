"""Compiled loops of the tree grower: binning, histograms, split search, leaves."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from anyscene.model.kernels import floor_and_normalise

MAX_BINS = 64


@njit(cache=True, nogil=True)
def bin_columns(x: NDArray[np.float32], edges: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return, for every entry, how many edges of its column lie below it."""
    out = np.empty(x.shape, np.uint8)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            low, high = 0, edges.shape[1]
            while low < high:
                middle = (low + high) // 2
                if edges[j, middle] < x[i, j]:
                    low = middle + 1
                else:
                    high = middle
            out[i, j] = low
    return out


@njit(cache=True, nogil=True)
def gradients(
    truth: NDArray[np.float32],
    belief: NDArray[np.float32],
    weight: NDArray[np.float32],
    class_scale: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Return what split search sums, float32[n, C + 1]: w·(p − q) by class, scaled, and the curvature.

    Dividing each class by the root of its mean curvature makes a plain sum of squares a Newton gain.
    """
    rows, classes = belief.shape
    out = np.empty((rows, classes + 1), np.float32)
    for i in range(rows):
        curvature = np.float32(0.0)
        for k in range(classes):
            out[i, k] = weight[i] * (truth[i, k] - belief[i, k]) * class_scale[k]
            curvature += belief[i, k] * (np.float32(1.0) - belief[i, k]) * class_scale[k] * class_scale[k]
        out[i, classes] = weight[i] * curvature / classes
    return out


@njit(cache=True, nogil=True)
def fill_histogram(
    binned: NDArray[np.uint8],
    rows: NDArray[np.int32],
    columns: NDArray[np.int32],
    sums: NDArray[np.float32],
    histogram: NDArray[np.float32],
) -> None:
    """Fill histogram, float32[len(columns), bins, width], with `sums` of these rows by column and bin."""
    histogram[:] = 0
    width = sums.shape[1]
    block = 16  # as many histograms as stay in the cache while the rows stream by
    for first in range(0, len(columns), block):
        last = min(first + block, len(columns))
        for i in rows:
            for c in range(first, last):
                b = binned[i, columns[c]]
                for k in range(width):
                    histogram[c, b, k] += sums[i, k]


@njit(cache=True, nogil=True)
def best_cut(
    histogram: NDArray[np.float32], regularisation: float, least_curvature: float
) -> tuple[float, int, int]:
    """Return (gain, column position, bin) of the cut `bin <= b` of largest gain; gain 0 when none is allowed.

    The score of a side is Σ_k G_k² / (H + regularisation); the gain is both sides' less the whole's.
    """
    columns, bins, width = histogram.shape
    classes = width - 1
    total = np.zeros(width)
    for b in range(bins):
        for k in range(width):
            total[k] += histogram[0, b, k]
    whole = 0.0
    for k in range(classes):
        whole += total[k] * total[k]
    whole /= total[classes] + regularisation
    best_gain, best_column, best_bin = 0.0, -1, -1
    left = np.empty(width)
    for c in range(columns):
        left[:] = 0
        for b in range(bins - 1):
            for k in range(width):
                left[k] += histogram[c, b, k]
            right_curvature = total[classes] - left[classes]
            if left[classes] < least_curvature or right_curvature < least_curvature:
                continue
            left_score = 0.0
            right_score = 0.0
            for k in range(classes):
                left_score += left[k] * left[k]
                right_score += (total[k] - left[k]) * (total[k] - left[k])
            gain = (
                left_score / (left[classes] + regularisation)
                + right_score / (right_curvature + regularisation)
                - whole
            )
            if gain > best_gain:
                best_gain, best_column, best_bin = gain, c, b
    return best_gain, best_column, best_bin


@njit(cache=True, nogil=True)
def partition(
    binned: NDArray[np.uint8], rows: NDArray[np.int32], column: int, cut: int, scratch: NDArray[np.int32]
) -> int:
    """Reorder `rows` so that those with bin <= cut come first, order kept; return how many there are."""
    left, right = 0, 0
    for i in range(len(rows)):
        row = rows[i]
        if binned[row, column] <= cut:
            rows[left] = row
            left += 1
        else:
            scratch[right] = row
            right += 1
    rows[left:] = scratch[:right]
    return left


@njit(cache=True, nogil=True)
def grow(
    binned: NDArray[np.uint8],
    rows: NDArray[np.int32],
    root_columns: NDArray[np.int32],
    draws: NDArray[np.int32],
    sums: NDArray[np.float32],
    depth: int,
    regularisation: float,
    least_curvature: float,
) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.int32]]:
    """Grow one tree level by level on these rows; return (feature, cut, left) of its nodes.

    root_columns : the columns that the first cut chooses from.
    draws : int32[nodes, m], the columns that every other cut chooses from.
    `rows` is reordered.
    """
    most = 2 ** (depth + 1) - 1
    feature = np.zeros(most, np.int32)
    cut = np.zeros(most, np.uint8)
    left = np.full(most, -1, np.int32)
    first = np.zeros(most, np.int64)
    last = np.zeros(most, np.int64)
    last[0] = len(rows)
    count = 1
    scratch = np.empty(len(rows), np.int32)
    widest = max(len(root_columns), draws.shape[1])
    histogram = np.empty((widest, MAX_BINS, sums.shape[1]), np.float32)
    level_start = 0
    for _ in range(depth):
        level_end = count
        for node in range(level_start, level_end):
            members = rows[first[node] : last[node]]
            columns = root_columns if node == 0 else draws[node]
            filled = histogram[: len(columns)]
            fill_histogram(binned, members, columns, sums, filled)
            _, position, at = best_cut(filled, regularisation, least_curvature)
            if position < 0:
                continue
            feature[node] = columns[position]
            cut[node] = at
            left[node] = count
            middle = first[node] + partition(binned, members, feature[node], at, scratch)
            first[count], last[count] = first[node], middle
            first[count + 1], last[count + 1] = middle, last[node]
            count += 2
        if count == level_end:
            break
        level_start = level_end
    return feature[:count].copy(), cut[:count].copy(), left[:count].copy()


@njit(cache=True, nogil=True)
def leaf_of_rows(
    binned: NDArray[np.uint8], feature: NDArray[np.int32], cut: NDArray[np.uint8], left: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the leaf that every row falls into."""
    out = np.empty(binned.shape[0], np.int32)
    for i in range(binned.shape[0]):
        node = 0
        while left[node] >= 0:
            node = left[node] + (0 if binned[i, feature[node]] <= cut[node] else 1)
        out[i] = node
    return out


@njit(cache=True, nogil=True)
def leaf_sums(
    leaf: NDArray[np.int32],
    truth: NDArray[np.float32],
    belief: NDArray[np.float32],
    weight: NDArray[np.float32],
    nodes: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return w·(p − q) and w·q·(1 − q) summed by node and class, float64[nodes, C] each."""
    classes = belief.shape[1]
    gradient = np.zeros((nodes, classes))
    curvature = np.zeros((nodes, classes))
    for i in range(len(leaf)):
        for k in range(classes):
            q = belief[i, k]
            gradient[leaf[i], k] += weight[i] * (truth[i, k] - q)
            curvature[leaf[i], k] += weight[i] * q * (1 - q)
    return gradient, curvature


@njit(cache=True, nogil=True)
def step_slopes(
    leaf: NDArray[np.int32],
    steps: NDArray[np.float64],
    truth: NDArray[np.float32],
    belief: NDArray[np.float32],
    weight: NDArray[np.float32],
) -> tuple[float, float]:
    """Return the first and minus the second derivative of −loss by the step length along `steps`, at 0."""
    slope, bend = 0.0, 0.0
    for i in range(len(leaf)):
        mean, square = 0.0, 0.0
        for k in range(belief.shape[1]):
            h = steps[leaf[i], k]
            slope += weight[i] * h * (truth[i, k] - belief[i, k])
            mean += belief[i, k] * h
            square += belief[i, k] * h * h
        bend += weight[i] * (square - mean * mean)
    return slope, bend


@njit(cache=True, nogil=True)
def add_leaf_values(
    belief: NDArray[np.float32], leaf: NDArray[np.int32], value: NDArray[np.float32], floor: float
) -> None:
    """Update beliefs in place: q ∝ q·exp(value of its leaf), floored and normalised."""
    classes = belief.shape[1]
    factor = np.exp(value)
    for i in range(len(leaf)):
        total = np.float32(0.0)
        for k in range(classes):
            belief[i, k] *= factor[leaf[i], k]
            total += belief[i, k]
        floor_and_normalise(belief[i], total, np.float32(floor))
