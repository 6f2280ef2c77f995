"""Kernels over score maps: probabilities, and label maps at any size."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def softmax_rows(values: Array, classes: int) -> None:
    """Turn the first `classes` columns of float32[n, columns] into probabilities, in place."""
    for row in range(values.shape[0]):
        highest = values[row, 0]
        for k in range(1, classes):
            highest = max(highest, values[row, k])
        total = np.float32(0)
        for k in range(classes):
            values[row, k] = np.exp(values[row, k] - highest)
            total += values[row, k]
        for k in range(classes):
            values[row, k] /= total


@njit(cache=True, nogil=True)
def best_classes(scores: Array, classes: int, labels: Array) -> None:
    """The class with the highest score in each cell of float32[h, w, columns], into int16[h, w]."""
    for y in range(scores.shape[0]):
        for x in range(scores.shape[1]):
            best = 0
            for k in range(1, classes):
                if scores[y, x, k] > scores[y, x, best]:
                    best = k
            labels[y, x] = best


@njit(cache=True, nogil=True)
def paint_between(
    scores: Array,
    classes: int,
    best: Array,
    rows: Array,
    row_shares: Array,
    columns: Array,
    column_shares: Array,
    labels: Array,
) -> None:
    """Label int16[H, W] with the best class of bilinearly enlarged scores.

    Where the four cells around a pixel agree on the best class, so does every mixture of them; only the other
    pixels are interpolated. rows, columns: the cell before each pixel; the shares: how far it lies beyond.
    """
    last_row, last_column = scores.shape[0] - 1, scores.shape[1] - 1
    for y in range(labels.shape[0]):
        top = rows[y]
        bottom = min(top + 1, last_row)
        down = row_shares[y]
        for x in range(labels.shape[1]):
            left = columns[x]
            right = min(left + 1, last_column)
            first = best[top, left]
            if first == best[top, right] and first == best[bottom, left] and first == best[bottom, right]:
                labels[y, x] = first
                continue
            across = column_shares[x]
            a = (1 - down) * (1 - across)
            b = (1 - down) * across
            c = down * (1 - across)
            d = down * across
            winner = 0
            highest = np.float32(-np.inf)
            for k in range(classes):
                score = (
                    a * scores[top, left, k]
                    + b * scores[top, right, k]
                    + c * scores[bottom, left, k]
                    + d * scores[bottom, right, k]
                )
                if score > highest:
                    highest = score
                    winner = k
            labels[y, x] = winner
