"""Compiled kernels of the region graph: which regions touch, in which order they merge, cuts through it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from anyscene.hierarchy.pixel_kernels import OUTLINE, STEPS, find

NONE = np.uint32(0xFFFFFFFF)
"""No region, no edge. Like `find`, lists of neighbours use unsigned numbers only."""

OUTLINE_SHARE = 3.0
"""Weight of the contrast across two regions' common outline beside that of their mean colours."""

DIGIT_BITS = 8
DIGITS = 1 << DIGIT_BITS


class Neighbours(NamedTuple):
    """Each region's list of half-edges to its neighbours. Edge e has the half-edges 2 * e and 2 * e + 1.

    first, last : uint32[n], the ends of each region's list. following : uint32[2 * m], the next half-edge of
    a list. end : uint32[2 * m], the region that a half-edge leads to, which may have been merged since.
    lengths, contrasts : float64[m], the length of an edge's outline, 0 once it is dropped, and the summed
    contrast along it.
    """

    first: NDArray[np.uint32]
    last: NDArray[np.uint32]
    following: NDArray[np.uint32]
    end: NDArray[np.uint32]
    lengths: NDArray[np.float64]
    contrasts: NDArray[np.float64]


@njit(cache=True, nogil=True)
def region_graph(
    regions: NDArray[np.int32], count: int, right: NDArray[np.uint8], down: NDArray[np.uint8]
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
    """Pairs of neighbours int32[m, 2], the lower number first; the lengths and summed contrasts of outlines.

    Regions that an `OUTLINE` parts are not neighbours. Pairs are listed by their higher number. All regions
    that began before another and touch it cross the row of its first pixel, so lists are short.
    """
    h, w = regions.shape
    most = 3 * count  # the graph is planar
    pairs = np.empty((most, 2), np.int32)
    lengths = np.zeros(most)
    contrasts = np.zeros(most)
    first = np.full(count, -1, np.int32)
    following = np.empty(most, np.int32)
    found = 0
    for y in range(h):
        for x in range(w):
            here = regions[y, x]
            for direction in range(2):
                weight = down[y, x] if direction else right[y, x]
                if weight == OUTLINE:
                    continue
                there = regions[y + 1, x] if direction else regions[y, x + 1]
                if here == there:
                    continue
                low, high = min(here, there), max(here, there)
                pair = first[high]
                while pair >= 0 and pairs[pair, 0] != low:
                    pair = following[pair]
                if pair < 0:
                    pair = found
                    found += 1
                    pairs[pair, 0] = low
                    pairs[pair, 1] = high
                    following[pair] = first[high]
                    first[high] = pair
                lengths[pair] += 1
                contrasts[pair] += weight
    return pairs[:found], lengths[:found], contrasts[:found] / STEPS


@njit(cache=True, nogil=True)
def scale(means: NDArray[np.float64], a: int, b: int, contrast: float) -> float:
    """The k at which two regions merge: the least for which difference <= k / size ** 1.5.

    The difference is the squared difference of the mean colours plus `OUTLINE_SHARE` times the squared mean
    contrast of the common outline; 1 / size = 1 / |A| + 1 / |B|. With an exponent of 1 small regions would
    survive where borders of large ones are lost.
    """
    difference = OUTLINE_SHARE * contrast * contrast
    for channel in range(1, 4):
        gap = means[a, channel] - means[b, channel]
        difference += gap * gap
    size: float = means[a, 0] * means[b, 0] / (means[a, 0] + means[b, 0])
    return difference * size * math.sqrt(size)


@njit(cache=True, nogil=True, inline="always")
def _tidy(
    region: np.uint32,
    root: NDArray[np.uint32],
    graph: Neighbours,
    seen: NDArray[np.uint32],
    around: NDArray[np.uint32],
) -> int:
    """Bring a region's list of neighbours up to date: one half-edge to each of them, none to itself.

    Writes these half-edges to `around` and returns how many there are. Where two edges lead to the same
    neighbour, one is dropped, and the other gets its outline.

    root : uint32[n], the union-find forest of the merged regions.
    seen : uint32[n], the edge that is kept to each region. All are `NONE` before; the caller clears them.
    """
    first, last, following, end = graph.first, graph.last, graph.following, graph.end
    lengths, contrasts = graph.lengths, graph.contrasts
    count = 0
    kept = NONE
    half = first[region]
    while half != NONE:
        edge = half >> np.uint32(1)
        after = following[half]
        if lengths[edge] > 0:
            other = find(root, end[half])
            twin = seen[other]
            if other == region:
                lengths[edge] = 0
            elif twin != NONE:
                lengths[twin] += lengths[edge]
                contrasts[twin] += contrasts[edge]
                lengths[edge] = 0
            else:
                seen[other] = edge
                end[half] = other
                if kept == NONE:
                    first[region] = half
                else:
                    following[kept] = half
                kept = half
                around[count] = half
                count += 1
        half = after
    if kept == NONE:
        first[region] = NONE
    else:
        following[kept] = NONE
    last[region] = kept
    return count


@njit(cache=True, nogil=True)
def merge_order(
    pairs: NDArray[np.int32],
    lengths: NDArray[np.float64],
    contrasts: NDArray[np.float64],
    means: NDArray[np.float64],
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Merge neighbours until none are left: pairs of merged regions int32[m, 2] and their scales float64[m].

    This is a nearest-neighbour chain: it follows each region to the neighbour that merges with it at the
    smallest scale, until two choose each other. The result is that of always merging the pair of the
    smallest scale, without a queue. A merged region keeps its lowest number; scales never fall towards the
    root. Of equal scales the chain goes back if it can, else to the lowest number. Lengths, contrasts and
    means are overwritten.
    """
    count = means.shape[0]
    first = np.full(count, NONE)
    last = np.full(count, NONE)
    following = np.full(2 * pairs.shape[0], NONE)
    end = np.empty(2 * pairs.shape[0], np.uint32)
    for half in range(end.size):
        owner = np.uint32(pairs[half >> 1, half & 1])
        end[half] = pairs[half >> 1, 1 - (half & 1)]
        if first[owner] == NONE:
            first[owner] = half
        else:
            following[last[owner]] = half
        last[owner] = half
    graph = Neighbours(first, last, following, end, lengths, contrasts)

    root = np.arange(count).astype(np.uint32)
    seen = np.full(count, NONE)
    around = np.empty(count, np.uint32)
    reached = np.zeros(count)
    chain = np.empty(count, np.uint32)
    place = np.full(count, NONE)  # in the chain
    length = 0
    merges = np.empty((count, 2), np.int32)
    scales = np.empty(count)
    done = 0
    start = np.uint32(0)
    while start < count:
        if length == 0:
            if root[start] != start:
                start += np.uint32(1)
                continue
            chain[0] = start
            place[start] = 0
            length = 1
        tip = chain[length - 1]
        before = chain[length - 2] if length > 1 else NONE
        neighbours = _tidy(tip, root, graph, seen, around)
        nearest = NONE
        least = np.inf
        for index in range(neighbours):
            half = around[index]
            other = end[half]
            edge = seen[other]
            seen[other] = NONE
            value = scale(means, min(tip, other), max(tip, other), contrasts[edge] / lengths[edge])
            if value < least or (
                value == least and nearest != before and (other == before or other < nearest)
            ):
                nearest = other
                least = value
        if nearest == NONE:  # the chain is this region alone, merged with all that it may
            length = 0
            start += np.uint32(1)
            continue
        if place[nearest] == NONE:
            chain[length] = nearest
            place[nearest] = length
            length += 1
            continue
        # Mostly `nearest` is the one before. But a merge can bring the tip closer to a region further back
        # than that region's neighbours were. Then the two are nearest to each other, and the chain between
        # them is dropped.
        kept = place[nearest]
        for position in range(kept, length):
            place[chain[position]] = NONE
        length = kept
        a, b = min(tip, nearest), max(tip, nearest)
        reached[a] = max(least, reached[a], reached[b])
        merges[done, 0] = a
        merges[done, 1] = b
        scales[done] = reached[a]
        done += 1
        root[b] = a
        whole = means[a, 0] + means[b, 0]
        for channel in range(1, 4):
            means[a, channel] = (means[a, 0] * means[a, channel] + means[b, 0] * means[b, channel]) / whole
        means[a, 0] = whole
        following[last[a]] = first[b]
        last[a] = last[b]
    return merges[:done], scales[:done]


@njit(cache=True, nogil=True)
def sort_merges(merges: NDArray[np.int32], scales: NDArray[np.float64]) -> NDArray[np.int32]:
    """Merges in the order of their scales in single precision; equal ones stay in the order of finding.

    This is a radix sort: sorting by comparison takes several times as long here. Scales are not negative, so
    their bits are ordered as they are.
    """
    count = scales.size
    keys = scales.astype(np.float32).view(np.uint32)
    order = np.arange(count).astype(np.uint32)
    ordered = np.empty_like(order)
    places = np.empty(DIGITS + 1, np.int32)
    for shift in range(0, 32, DIGIT_BITS):
        places[:] = 0
        for key in keys:
            places[((key >> np.uint32(shift)) & np.uint32(DIGITS - 1)) + np.uint32(1)] += 1
        for digit in range(1, DIGITS):
            places[digit] += places[digit - 1]
        for item in order:
            digit = (keys[item] >> np.uint32(shift)) & np.uint32(DIGITS - 1)
            ordered[places[digit]] = item
            places[digit] += 1
        order, ordered = ordered, order
    return merges[order]


@njit(cache=True, nogil=True)
def cut(
    merges: NDArray[np.int32],
    steps: int,
    above: NDArray[np.int32],
    areas: NDArray[np.int32],
    boxes: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """The layer after the first `steps` merges, which never cross a region of the layer above.

    Returns the number in the layer of each region that merges start from, and the layer's parents, areas and
    boxes. Numbers follow the lowest region that was merged.

    above, areas, boxes : the region above, the area and the box of each region that merges start from.
    """
    count = above.size
    root = np.arange(count).astype(np.uint32)
    for step in range(steps):
        a = find(root, np.uint32(merges[step, 0]))
        b = find(root, np.uint32(merges[step, 1]))
        root[max(a, b)] = min(a, b)
    names = np.empty(count, np.int32)
    parents = np.empty(count - steps, np.int32)
    whole = np.zeros(count - steps, np.int32)
    hulls = np.empty((count - steps, 4), np.int32)
    found = 0
    for region in range(count):
        if root[region] == region:
            names[region] = found
            parents[found] = above[region]
            for side in range(4):
                hulls[found, side] = boxes[region, side]
            found += 1
        else:
            names[region] = names[find(root, np.uint32(region))]
        name = names[region]
        whole[name] += areas[region]
        for side in range(2):
            hulls[name, side] = min(hulls[name, side], boxes[region, side])
            hulls[name, side + 2] = max(hulls[name, side + 2], boxes[region, side + 2])
    return names, parents, whole, hulls
