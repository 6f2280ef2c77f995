"""Compiled loops of the permutohedral lattice: building it, splatting, blurring, slicing."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

LANES = 4
"""Values come in groups of this many floats, so that a constant inner loop becomes one instruction."""


@njit(cache=True, nogil=True)
def build(
    features: NDArray[np.float32], scale: tuple[np.float32, ...], bits: int
) -> tuple[NDArray[np.uint32], NDArray[np.float32], NDArray[np.int64]]:
    """Place points in the lattice; return (vertex uint32[n, d + 1], weight float32[n, d + 1], keys int64[m]).

    A key packs the first d coordinates of a vertex, `bits` each (the last coordinate follows, as they sum to
    zero). Vertices are numbered as they are first met, so that neighbouring pixels meet neighbouring rows of
    values.

    features : float32[n, d], in standard deviations.
    scale : steps of the lattice to a standard deviation. As a tuple it tells the compiler what d is, which
        unrolls the loops over dimensions.
    """
    d = len(scale)
    count = len(features)
    side = np.float32(d + 1)
    vertex = np.empty((count, d + 1), np.uint32)
    weight = np.empty((count, d + 1), np.float32)
    keys = np.empty(1 << 12, np.int64)
    met = 0
    table = np.full(1 << 14, -1, np.int32)
    ones = _ones(d, bits)
    elevated = np.empty(d + 1, np.float32)  # becomes the difference to the corner
    corner = np.empty(d + 1, np.int64)
    rank = np.empty(d + 1, np.int64)
    ranked = np.empty(d + 1, np.int64)
    barycentric = np.empty(d + 2, np.float32)
    last_keys = np.full(d + 1, -1, np.int64)
    for n in range(count):
        # Onto the hyperplane of coordinates that sum to zero.
        total = np.float32(0.0)
        for j in range(d, 0, -1):
            step = features[n, j - 1] * scale[j - 1]
            elevated[j] = total - np.float32(j) * step
            total += step
        elevated[0] = total
        # The nearest vertex whose coordinates are all multiples of d + 1, and the order of the differences.
        excess = np.int64(0)
        for i in range(d + 1):
            nearest = np.floor(elevated[i] * (1 / side) + np.float32(0.5))
            elevated[i] -= nearest * side
            corner[i] = np.int64(nearest) * (d + 1)
            excess += np.int64(nearest)
            rank[i] = 0
        for i in range(d):
            for j in range(i + 1, d + 1):
                behind = np.int64(elevated[i] < elevated[j])
                rank[i] += behind
                rank[j] += 1 - behind
        for i in range(d + 1):
            rank[i] += excess
            if rank[i] < 0:
                rank[i] += d + 1
                corner[i] += d + 1
                elevated[i] -= side
            elif rank[i] > d:
                rank[i] -= d + 1
                corner[i] -= d + 1
                elevated[i] += side
            ranked[rank[i]] = i
        # Barycentric coordinates are the gaps between neighbours in that order.
        for r in range(d):
            barycentric[r + 1] = (elevated[ranked[d - r - 1]] - elevated[ranked[d - r]]) * (1 / side)
        barycentric[0] = 1 - (elevated[ranked[0]] - elevated[ranked[d]]) * (1 / side)
        key = np.int64(0)
        for i in range(d):
            key += (corner[i] + (np.int64(1) << (bits - 1))) << (bits * i)
        for r in range(d + 1):
            if r > 0:
                # The next corner lies one step on along all axes, but d steps back along one.
                axis = ranked[d + 1 - r]
                key += ones
                if axis < d:
                    key -= np.int64(d + 1) << (bits * axis)
            weight[n, r] = barycentric[r]
            if key == last_keys[r]:
                vertex[n, r] = vertex[n - 1, r]
                continue
            last_keys[r] = key
            slot = _slot(table, keys, key)
            if table[slot] < 0:
                if met == len(keys):
                    keys = np.concatenate((keys, np.empty(met, np.int64)))
                    table = np.full(4 * len(keys), -1, np.int32)
                    for old in range(met):
                        table[_slot(table, keys, keys[old])] = old
                    slot = _slot(table, keys, key)
                keys[met] = key
                table[slot] = met
                met += 1
            vertex[n, r] = np.uint32(table[slot])
    return vertex, weight, keys[:met].copy()


@njit(cache=True, nogil=True)
def neighbours(keys: NDArray[np.int64], d: int, bits: int) -> NDArray[np.uint32]:
    """For each of the d + 1 directions, both neighbours of every vertex, uint32[d + 1, m, 2].

    A neighbour that is not there is number m: a row of zeros.
    """
    count = len(keys)
    size = 1
    while size < 3 * count:
        size *= 2
    table = np.full(size, -1, np.int32)
    for i in range(count):
        table[_slot(table, keys, keys[i])] = i
    ones = _ones(d, bits)
    found = np.empty((d + 1, count, 2), np.uint32)
    for direction in range(d + 1):
        step = ones
        if direction < d:
            step -= np.int64(d + 1) << (bits * direction)
        for i in range(count):
            for side in range(2):
                slot = _slot(table, keys, keys[i] + step if side else keys[i] - step)
                found[direction, i, side] = table[slot] if table[slot] >= 0 else count
    return found


@njit(cache=True, nogil=True)
def _ones(d: int, bits: int) -> np.int64:
    """The key of one step along each axis."""
    ones = np.int64(0)
    for i in range(d):
        ones += np.int64(1) << (bits * i)
    return ones


@njit(cache=True, nogil=True)
def _slot(table: NDArray[np.int32], keys: NDArray[np.int64], key: np.int64) -> np.int64:
    """Where a key stands in the table, or the empty slot where it would."""
    mask = len(table) - 1
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64(mixed >> np.uint64(32)) & mask
    while table[slot] >= 0 and keys[table[slot]] != key:
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, nogil=True)
def splat(
    values: NDArray[np.float32],
    vertex: NDArray[np.uint32],
    weight: NDArray[np.float32],
    lattice: NDArray[np.float32],
) -> None:
    """Spread values[n, groups, LANES] over the vertices, lattice[m + 1, groups, LANES], overwritten."""
    lattice[:] = 0
    for n in range(values.shape[0]):
        for r in range(vertex.shape[1]):
            v = vertex[n, r]
            w = weight[n, r]
            for g in range(values.shape[1]):
                for k in range(LANES):
                    lattice[v, g, k] += w * values[n, g, k]


@njit(cache=True, nogil=True)
def blur(
    lattice: NDArray[np.float32], scratch: NDArray[np.float32], neighbour: NDArray[np.uint32]
) -> NDArray[np.float32]:
    """Blur along every direction in turn by (1/2, 1, 1/2); return whichever of both arrays has the result.

    The last rows of both stand for vertices that are not there, and stay zero.
    """
    half = np.float32(0.5)
    scratch[-1] = 0
    for direction in range(neighbour.shape[0]):
        for i in range(neighbour.shape[1]):
            before = neighbour[direction, i, 0]
            after = neighbour[direction, i, 1]
            for g in range(lattice.shape[1]):
                for k in range(LANES):
                    scratch[i, g, k] = lattice[i, g, k] + half * (
                        lattice[before, g, k] + lattice[after, g, k]
                    )
        lattice, scratch = scratch, lattice
    return lattice


@njit(cache=True, nogil=True)
def add_slice(
    lattice: NDArray[np.float32],
    vertex: NDArray[np.uint32],
    weight: NDArray[np.float32],
    factor: float,
    out: NDArray[np.float32],
) -> None:
    """Add to out[n, groups, LANES] what the vertices hold at each point, times `factor`."""
    for n in range(out.shape[0]):
        for r in range(vertex.shape[1]):
            v = vertex[n, r]
            w = weight[n, r] * np.float32(factor)
            for g in range(out.shape[1]):
                for k in range(LANES):
                    out[n, g, k] += w * lattice[v, g, k]
