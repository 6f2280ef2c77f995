"""Kernels that label pixels by the scores of the cells around them.

Pixels are labeled block by block: a block lies between the centres of four cells. Where the four agree on the
best class, so does every mixture of them. Elsewhere a class that is below some other one's lowest corner even
at its own highest can win nowhere in the block, so that few classes are mixed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]
Corners = tuple[int, int, int, int]
"""Four cells around a block of pixels: their upper and lower row, their left and right column."""


class Cells(NamedTuple):
    """Cells that tile the image.

    scores: float32[h, w, columns]. best: int16[h, w], the class with the highest score in each cell.
    classes: how many of the first columns score classes.
    """

    scores: Array
    best: Array
    classes: int


class Blocks(NamedTuple):
    """How pixels lie between the centres of cells, along one side of the image.

    starts: int64[cells + 1], the first pixel at or beyond each cell's centre; the first cell's block also
        holds the pixels before it. shares: float32[pixels], how far each lies beyond that centre, in cells.
    """

    starts: Array
    shares: Array


class Shades(NamedTuple):
    """How light pixels and cells are.

    pixels: uint8[H, W]. cells: uint8[h, w]. narrow: a gap between two shades of narrow^-1/2 halves a weight.
    """

    pixels: Array
    cells: Array
    narrow: Any


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
def paint_between(cells: Cells, rows: Blocks, columns: Blocks, labels: Array) -> None:
    """Label int16[H, W] with the best class of bilinearly enlarged scores."""
    scores, row_starts, row_shares = cells.scores, rows.starts, rows.shares
    column_starts, column_shares = columns.starts, columns.shares
    rivals = np.empty(cells.classes, np.int16)
    at_left, slope = np.empty(cells.classes, np.float32), np.empty(cells.classes, np.float32)
    highest = np.empty(labels.shape[1], np.float32)
    disputed = np.empty(scores.shape[1], np.int64)
    for row in range(scores.shape[0]):
        for place in range(_settle(cells.best, row, rows, columns, disputed, labels)):
            _, below, column, beyond = corners = _corners(cells.best, row, disputed[place])
            count = _find_rivals(scores, cells.classes, corners, rivals)
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
def paint_alike(cells: Cells, rows: Blocks, columns: Blocks, light: Shades, labels: Array) -> None:
    """Label like `paint_between`, but a cell counts more the more alike the pixel's shade and its own are."""
    # One kernel for both, which mixes a row of pixels by a call, takes twice the time of either.
    scores, row_starts, row_shares = cells.scores, rows.starts, rows.shares
    column_starts, column_shares = columns.starts, columns.shares
    shades, cell_shades, narrow = light.pixels, light.cells, light.narrow
    rivals = np.empty(cells.classes, np.int16)
    weights, highest = np.empty((4, labels.shape[1]), np.float32), np.empty(labels.shape[1], np.float32)
    weight_a, weight_b, weight_c, weight_d = weights[0], weights[1], weights[2], weights[3]
    one = np.float32(1)
    disputed = np.empty(scores.shape[1], np.int64)
    for row in range(scores.shape[0]):
        for place in range(_settle(cells.best, row, rows, columns, disputed, labels)):
            _, below, column, beyond = corners = _corners(cells.best, row, disputed[place])
            count = _find_rivals(scores, cells.classes, corners, rivals)
            if count < 2:  # scores that are not numbers
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
def _settle(best: Array, row: int, rows: Blocks, columns: Blocks, disputed: Array, labels: Array) -> int:
    """Give the blocks of a row of cells their cell's best class; return how many have corners that disagree.

    The columns of these go into `disputed`.
    """
    top, bottom = rows.starts[row], rows.starts[row + 1]
    if top == bottom:  # more cells than pixels
        return 0
    count, first_line = 0, labels[top]
    for column in range(best.shape[1]):
        first_line[columns.starts[column] : columns.starts[column + 1]] = best[row, column]
        _, below, _, beyond = _corners(best, row, column)
        same = best[row, column] == best[row, beyond]
        if not (same and best[row, column] == best[below, column] == best[below, beyond]):
            disputed[count] = column
            count += 1
    for y in range(top + 1, bottom):
        labels[y] = first_line
    return count


@njit(cache=True, nogil=True)
def _corners(best: Array, row: int, column: int) -> Corners:
    """The four cells around the block that begins at a cell's centre; the last ones repeat."""
    return row, min(row + 1, best.shape[0] - 1), column, min(column + 1, best.shape[1] - 1)


@njit(cache=True, nogil=True)
def _find_rivals(scores: Array, classes: int, corners: Corners, rivals: Array) -> int:
    """Put the classes that may win somewhere between four cells into `rivals`; return how many there are."""
    top, bottom, left, right = corners
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
