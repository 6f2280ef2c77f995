"""Kernels after the network: probabilities and label maps of its scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def below_highest(values: Array, below: Array, lowest: Any) -> None:
    """How far the first columns of float32[n, columns] lie below their highest, into float32[n, classes].

    lowest : none lies further below.
    """
    for row in range(below.shape[0]):
        highest = values[row, 0]
        for k in range(1, below.shape[1]):
            highest = max(highest, values[row, k])
        for k in range(below.shape[1]):
            below[row, k] = max(values[row, k] - highest, lowest)


@njit(cache=True, nogil=True)
def put_shares(masses: Array, values: Array) -> None:
    """Each of float32[n, classes] over its row's sum, into the first columns of float32[n, columns]."""
    for row in range(masses.shape[0]):
        total = np.float32(0)
        for k in range(masses.shape[1]):
            total += masses[row, k]
        for k in range(masses.shape[1]):
            values[row, k] = masses[row, k] / total


@njit(cache=True, nogil=True)
def best_classes(scores: Array, classes: int, labels: Array) -> None:
    """The class with the highest score in each cell of float32[h, w, columns], into int16[h, w]."""
    for y in range(scores.shape[0]):
        for x in range(scores.shape[1]):
            best, highest = 0, scores[y, x, 0]
            for k in range(1, classes):
                best = k if scores[y, x, k] > highest else best
                highest = max(scores[y, x, k], highest)
            labels[y, x] = best


@njit(cache=True, nogil=True)
def paint_between(
    scores: Array,
    classes: int,
    best: Array,
    row_starts: Array,
    row_shares: Array,
    column_starts: Array,
    column_shares: Array,
    labels: Array,
) -> None:
    """Label int16[H, W] with the best class of bilinearly enlarged scores, block by block between four cells.

    Where the four cells agree on the best class, so does every mixture of them. Elsewhere a class that is
    below some other one's lowest corner even at its own highest can win nowhere in the block, so that few are
    interpolated.

    row_starts, column_starts: int64[cells + 1], the first pixel at or beyond each cell's centre (the first
    cell's block also holds what lies before). The shares: how far each pixel lies beyond that centre.
    """
    rivals = np.empty(classes, np.int16)
    at_left, slope = np.empty(classes, np.float32), np.empty(classes, np.float32)
    highest = np.empty(labels.shape[1], np.float32)
    for row in range(scores.shape[0]):
        below = min(row + 1, scores.shape[0] - 1)
        _fill_blocks(best[row], row_starts[row], row_starts[row + 1], column_starts, labels)
        for column in range(scores.shape[1]):
            beyond = min(column + 1, scores.shape[1] - 1)
            if _agree(best, row, below, column, beyond):
                continue
            count = _find_rivals(scores, classes, row, below, column, beyond, rivals)
            start, end = column_starts[column], column_starts[column + 1]
            shares = column_shares[start:end]
            for y in range(row_starts[row], row_starts[row + 1]):
                down, pixels = row_shares[y], labels[y, start:end]
                for i in range(count):
                    k = rivals[i]
                    at_left[i] = (1 - down) * scores[row, column, k] + down * scores[below, column, k]
                    at_right = (1 - down) * scores[row, beyond, k] + down * scores[below, beyond, k]
                    slope[i] = at_right - at_left[i]
                if count == 2:  # nearly always
                    lead, gain = at_left[1] - at_left[0], slope[1] - slope[0]
                    one, other = rivals[0], rivals[1]
                    for x in range(len(shares)):
                        pixels[x] = other if lead + shares[x] * gain > 0 else one
                    continue
                for x in range(len(shares)):
                    highest[x] = at_left[0] + shares[x] * slope[0]
                    pixels[x] = rivals[0]
                for i in range(1, count):
                    left, rise, k = at_left[i], slope[i], rivals[i]
                    for x in range(len(shares)):
                        score = left + shares[x] * rise
                        pixels[x] = k if score > highest[x] else pixels[x]
                        highest[x] = max(score, highest[x])


@njit(cache=True, nogil=True, error_model="numpy")
def paint_alike(
    scores: Array,
    classes: int,
    best: Array,
    row_starts: Array,
    row_shares: Array,
    column_starts: Array,
    column_shares: Array,
    shades: Array,
    cell_shades: Array,
    narrow: Any,
    labels: Array,
) -> None:
    """As `paint_between`, but a cell counts the more the more alike the pixel's shade and its own are.

    shades: of pixels, uint8[H, W], and of cells, uint8[h, w]. narrow: a gap of narrow^-1/2 halves the weight.

    One kernel for both, which mixes a row of pixels by a call, took twice the time of either.
    """
    rivals = np.empty(classes, np.int16)
    weights, highest = np.empty((4, labels.shape[1]), np.float32), np.empty(labels.shape[1], np.float32)
    weight_a, weight_b, weight_c, weight_d = weights[0], weights[1], weights[2], weights[3]
    one = np.float32(1)
    for row in range(scores.shape[0]):
        below = min(row + 1, scores.shape[0] - 1)
        _fill_blocks(best[row], row_starts[row], row_starts[row + 1], column_starts, labels)
        for column in range(scores.shape[1]):
            beyond = min(column + 1, scores.shape[1] - 1)
            if _agree(best, row, below, column, beyond):
                continue
            count = _find_rivals(scores, classes, row, below, column, beyond, rivals)
            if count < 2:  # scores that are no numbers
                continue
            start, end = column_starts[column], column_starts[column + 1]
            shares = column_shares[start:end]
            a, b, c, d = (
                scores[row, column],
                scores[row, beyond],
                scores[below, column],
                scores[below, beyond],
            )
            of_a, of_b = np.float32(cell_shades[row, column]), np.float32(cell_shades[row, beyond])
            of_c, of_d = np.float32(cell_shades[below, column]), np.float32(cell_shades[below, beyond])
            first, second = rivals[0], rivals[1]
            lead_a, lead_b = a[second] - a[first], b[second] - b[first]
            lead_c, lead_d = c[second] - c[first], d[second] - d[first]
            for y in range(row_starts[row], row_starts[row + 1]):
                down, up = row_shares[y], one - row_shares[y]
                pixels, row_shades = labels[y, start:end], shades[y, start:end]
                if count == 2:  # nearly always
                    for x in range(len(shares)):
                        right, left, shade = shares[x], one - shares[x], np.float32(row_shades[x])
                        lead = up * left * lead_a / (one + narrow * (shade - of_a) * (shade - of_a))
                        lead += up * right * lead_b / (one + narrow * (shade - of_b) * (shade - of_b))
                        lead += down * left * lead_c / (one + narrow * (shade - of_c) * (shade - of_c))
                        lead += down * right * lead_d / (one + narrow * (shade - of_d) * (shade - of_d))
                        pixels[x] = second if lead > 0 else first
                    continue
                for x in range(len(shares)):
                    right, left, shade = shares[x], one - shares[x], np.float32(row_shades[x])
                    weight_a[x] = up * left / (one + narrow * (shade - of_a) * (shade - of_a))
                    weight_b[x] = up * right / (one + narrow * (shade - of_b) * (shade - of_b))
                    weight_c[x] = down * left / (one + narrow * (shade - of_c) * (shade - of_c))
                    weight_d[x] = down * right / (one + narrow * (shade - of_d) * (shade - of_d))
                for x in range(len(shares)):
                    highest[x], pixels[x] = np.float32(-np.inf), first
                for i in range(count):
                    k = rivals[i]
                    at_a, at_b, at_c, at_d = a[k], b[k], c[k], d[k]
                    for x in range(len(shares)):
                        score = weight_a[x] * at_a + weight_b[x] * at_b
                        score += weight_c[x] * at_c + weight_d[x] * at_d
                        pixels[x] = k if score > highest[x] else pixels[x]
                        highest[x] = max(score, highest[x])


@njit(cache=True, nogil=True)
def _fill_blocks(best: Array, top: int, bottom: int, column_starts: Array, labels: Array) -> None:
    """Give the rows from `top` to before `bottom` the best class of each column's cell."""
    if top == bottom:  # more cells than pixels
        return
    for column in range(len(best)):
        labels[top, column_starts[column] : column_starts[column + 1]] = best[column]
    for y in range(top + 1, bottom):
        labels[y] = labels[top]


@njit(cache=True, nogil=True)
def _agree(best: Array, top: int, bottom: int, left: int, right: int) -> bool:
    """Whether four cells have the same best class."""
    first = best[top, left]
    return bool(first == best[top, right] and first == best[bottom, left] and first == best[bottom, right])


@njit(cache=True, nogil=True)
def _find_rivals(
    scores: Array, classes: int, top: int, bottom: int, left: int, right: int, rivals: Array
) -> int:
    """Put the classes that may win somewhere between four cells into `rivals`; how many there are."""
    floor = np.float32(-np.inf)
    for k in range(classes):
        upper = min(scores[top, left, k], scores[top, right, k])
        floor = max(floor, min(upper, min(scores[bottom, left, k], scores[bottom, right, k])))
    count = 0
    for k in range(classes):
        upper = max(scores[top, left, k], scores[top, right, k])
        if max(upper, max(scores[bottom, left, k], scores[bottom, right, k])) >= floor:
            rivals[count] = k
            count += 1
    return count
