"""Compiled loops over leaves: splitting, trees, belief updates."""

from __future__ import annotations

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
        floor_and_normalise(out[i], total, BELIEF_FLOOR)
    return out


@njit(cache=True, nogil=True)
def floor_and_normalise(belief: NDArray[np.float32], total: np.float32, floor: np.float32) -> None:
    """Divide beliefs of this total by it, lift those below the floor to it, and let them sum to 1 again."""
    floored = np.float32(0.0)
    for k in range(len(belief)):
        belief[k] = max(belief[k] / total, floor)
        floored += belief[k]
    for k in range(len(belief)):
        belief[k] /= floored


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
