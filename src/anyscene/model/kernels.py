"""Compiled loops over leaves: splitting, trees, belief updates, painting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from anyscene.features.sets import SCORE_FLOOR

# No class is ever ruled out: a floor keeps the log finite and lets later evidence revive a class.
BELIEF_FLOOR = np.float32(1e-5)


@njit(cache=True, nogil=True)
def split_rows(
    leaves: NDArray[np.int32],
    opened: NDArray[np.bool_],
    child_start: NDArray[np.int32],
    child: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the new leaves and, for each, the row it came from; opened leaves give way to their children."""
    count = 0
    for i in range(len(leaves)):
        count += child_start[leaves[i] + 1] - child_start[leaves[i]] if opened[i] else 1
    new_leaves = np.empty(count, np.int32)
    source = np.empty(count, np.int32)
    at = 0
    for i in range(len(leaves)):
        if opened[i]:
            for j in range(child_start[leaves[i]], child_start[leaves[i] + 1]):
                new_leaves[at] = child[j]
                source[at] = i
                at += 1
        else:
            new_leaves[at] = leaves[i]
            source[at] = i
            at += 1
    return new_leaves, source


@njit(cache=True, nogil=True)
def add_tree_scores(
    x: NDArray[np.float32],
    feature: NDArray[np.int32],
    threshold: NDArray[np.float32],
    left: NDArray[np.int32],
    value: NDArray[np.float32],
    roots: NDArray[np.int32],
    scores: NDArray[np.float32],
) -> None:
    """Add to each row of `scores` the leaf values that these trees give the same row of `x`.

    A node with left < 0 is a leaf; otherwise x <= threshold goes left, anything else to left + 1.
    """
    for i in range(x.shape[0]):
        for root in roots:
            node = root
            while left[node] >= 0:
                node = left[node] + (0 if x[i, feature[node]] <= threshold[node] else 1)
            for k in range(scores.shape[1]):
                scores[i, k] += value[node, k]


@njit(cache=True, nogil=True)
def add_log_scores(chances: NDArray[np.float32], weight: float, scores: NDArray[np.float32]) -> None:
    """Add weight·log(chance) to each score; chances are floored."""
    factor = np.float32(weight)
    for i in range(scores.shape[0]):
        for k in range(scores.shape[1]):
            scores[i, k] += factor * np.log(max(chances[i, k], SCORE_FLOOR))


@njit(cache=True, nogil=True)
def reweigh(
    belief: NDArray[np.float32], rows: NDArray[np.int64], scores: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return beliefs with q ∝ q·exp(score) in these rows (Eq. 2), floored and normalised."""
    out = belief.copy()
    classes = belief.shape[1]
    for j in range(len(rows)):
        i = rows[j]
        top = scores[j, 0]
        for k in range(1, classes):
            top = max(top, scores[j, k])
        total = np.float32(0.0)
        for k in range(classes):
            out[i, k] = belief[i, k] * np.exp(scores[j, k] - top)
            total += out[i, k]
        floored = np.float32(0.0)
        for k in range(classes):
            out[i, k] = max(out[i, k] / total, BELIEF_FLOOR)
            floored += out[i, k]
        for k in range(classes):
            out[i, k] /= floored
    return out


@njit(cache=True, nogil=True)
def leaf_of_regions(
    leaves: NDArray[np.int32],
    start: NDArray[np.int32],
    child_start: NDArray[np.int32],
    child: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Return the row of the leaf that holds each region of the finest layer, int32[regions].

    start : the first node of each layer, and the node count.
    """
    holder = np.full(start[-1], -1, np.int32)
    for row in range(len(leaves)):
        holder[leaves[row]] = row
    finest = start[-2]
    for node in range(finest):  # parents come before their children
        if holder[node] >= 0:
            for j in range(child_start[node], child_start[node + 1]):
                holder[child[j]] = holder[node]
    return holder[finest:]


@njit(cache=True, nogil=True)
def paint(
    regions: NDArray[np.int32],
    values: NDArray[Any],
    rows: NDArray[np.int32],
    columns: NDArray[np.int32],
    out: NDArray[Any],
) -> None:
    """Give every pixel of `out` the value of the region in its block of the grid `regions`.

    rows, columns : the block of each row and column of `out`, never falling. Rows of pixels that share a row
    of blocks are copies of the first.
    """
    width = len(columns)
    for y in range(len(rows)):
        line = out[y]
        if y and rows[y] == rows[y - 1]:
            above = out[y - 1]
            for x in range(width):  # an assignment of slices takes five times as long
                line[x] = above[x]
        else:
            blocks = regions[rows[y]]
            for x in range(width):
                line[x] = values[blocks[columns[x]]]


@njit(cache=True, nogil=True)
def repeat(
    values: NDArray[Any], rows: NDArray[np.int32], columns: NDArray[np.int32], out: NDArray[Any]
) -> None:
    """Give every pixel of `out` the value at its row and column of `values`; both never fall."""
    for y in range(len(rows)):
        line = out[y]
        if y and rows[y] == rows[y - 1]:
            above = out[y - 1]
            for x in range(len(columns)):
                line[x] = above[x]
        else:
            row = values[rows[y]]
            for x in range(len(columns)):
                line[x] = row[columns[x]]


@njit(cache=True, nogil=True)
def add_row(scores: NDArray[np.float32], row: NDArray[np.float32]) -> None:
    """Add the same, float32[C], to the scores of every cell, float32[h, w, C]."""
    for y in range(scores.shape[0]):
        for x in range(scores.shape[1]):
            for k in range(scores.shape[2]):
                scores[y, x, k] += row[k]


@njit(cache=True, nogil=True)
def add_leaf_scores(
    scores: NDArray[np.float32], of_leaf: NDArray[np.float32], leaf_of_cell: NDArray[np.int32]
) -> None:
    """Add to the scores of each cell, float32[h, w, C], those of its leaf."""
    for y in range(scores.shape[0]):
        for x in range(scores.shape[1]):
            leaf = leaf_of_cell[y, x]
            for k in range(of_leaf.shape[1]):
                scores[y, x, k] += of_leaf[leaf, k]


@njit(cache=True, nogil=True)
def mix_alike(
    scores: NDArray[np.float32],
    colors: NDArray[np.uint8],
    alike: NDArray[np.float32],
    mixed: NDArray[np.float32],
) -> None:
    """Mix the scores of each cell, float32[h, w, C], with those of the eight cells around it, into `mixed`.

    colors : uint8[h, w, 3]. alike : float32[2, D], the weight of a neighbour at a side, and at a corner, by
    the squared distance of its colour; the last is that of all greater ones. A cell's own weight is 1.

    Class by class, a row of cells is one run of additions, so rows are laid out by class, with a cell of no
    weight at either end.
    """
    height, width, classes = scores.shape
    rows = np.zeros((3, classes, width + 2), np.float32)  # above, here, below
    up, down = np.zeros((3, width + 2), np.float32), np.zeros((3, width + 2), np.float32)
    across = np.zeros(width + 2, np.float32)
    _lay_out(scores[0], rows[1])
    sums, total = np.empty((classes, width), np.float32), np.empty(width, np.float32)
    for y in range(height):
        above, here, below = rows[y % 3], rows[(y + 1) % 3], rows[(y + 2) % 3]
        if y + 1 < height:
            _lay_out(scores[y + 1], below)
            _weigh(colors[y], colors[y + 1], alike, down)
        else:
            down[:] = 0
        _weigh_across(colors[y], alike[0], across)
        for x in range(width):
            sides = across[x] + across[x + 1] + up[1, x + 1] + down[1, x + 1]
            corners = up[2, x] + up[0, x + 2] + down[0, x + 1] + down[2, x + 1]
            total[x] = 1 / (1 + sides + corners)
        for k in range(classes):
            a, b, c = above[k], here[k], below[k]
            s = sums[k]
            for x in range(width):
                t = b[x + 1] + across[x] * b[x] + across[x + 1] * b[x + 2]
                t += up[2, x] * a[x] + up[1, x + 1] * a[x + 1] + up[0, x + 2] * a[x + 2]
                t += down[0, x + 1] * c[x] + down[1, x + 1] * c[x + 1] + down[2, x + 1] * c[x + 2]
                s[x] = t * total[x]
        out = mixed[y]
        for x in range(width):
            for k in range(classes):
                out[x, k] = sums[k, x]
        up, down = down, up


@njit(cache=True, nogil=True)
def _lay_out(cells: NDArray[np.float32], row: NDArray[np.float32]) -> None:
    """Lay out a row of cells, float32[w, C], by class, float32[C, w + 2]."""
    for x in range(cells.shape[0]):
        for k in range(cells.shape[1]):
            row[k, x + 1] = cells[x, k]


@njit(cache=True, nogil=True)
def _weigh(
    here: NDArray[np.uint8],
    below: NDArray[np.uint8],
    alike: NDArray[np.float32],
    weights: NDArray[np.float32],
) -> None:
    """How alike each cell of a row is to those below it, left, middle and right, into float32[3, w + 2]."""
    last = len(here) - 1
    for x in range(len(here)):
        weights[1, x + 1] = alike[0, _distance(here[x], below[x], alike.shape[1])]
        if x > 0:
            weights[0, x + 1] = alike[1, _distance(here[x], below[x - 1], alike.shape[1])]
        if x < last:
            weights[2, x + 1] = alike[1, _distance(here[x], below[x + 1], alike.shape[1])]


@njit(cache=True, nogil=True)
def _weigh_across(here: NDArray[np.uint8], alike: NDArray[np.float32], weights: NDArray[np.float32]) -> None:
    """How alike each cell of a row is to the one after it, into float32[w + 2], one place further on."""
    for x in range(len(here) - 1):
        weights[x + 1] = alike[_distance(here[x], here[x + 1], len(alike))]


@njit(cache=True, nogil=True)
def _distance(one: NDArray[np.uint8], other: NDArray[np.uint8], ends: int) -> np.signedinteger[Any]:
    """The squared distance of two colours, below `ends`."""
    red = np.int32(one[0]) - np.int32(other[0])
    green = np.int32(one[1]) - np.int32(other[1])
    blue = np.int32(one[2]) - np.int32(other[2])
    return min(red * red + green * green + blue * blue, np.int32(ends - 1))
