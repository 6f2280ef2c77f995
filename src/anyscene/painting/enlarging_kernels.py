"""Kernels that enlarge labels along the outlines of a photo."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

NEIGHBOURS = 9
"""A pixel is labelled by those of the working frame: the one that it lies in, and the eight around it."""


class Lines(NamedTuple):
    """The rows, or the columns, of an image and of its smaller frame.

    starts : int64[frame + 1], the first line of the image within each line of the frame.
    nearness : float32[image, 3], the weight of the frame's line before, of its own, and of the one after.
    """

    starts: NDArray[np.int64]
    nearness: NDArray[np.float32]


@njit(cache=True, nogil=True)
def enlarge(
    labels: NDArray[np.int16],
    mixed: NDArray[np.bool_],
    frame: NDArray[np.uint8],
    image: NDArray[np.uint8],
    alike: NDArray[np.float32],
    rows: Lines,
    columns: Lines,
    out: NDArray[np.int16],
) -> None:
    """Give every pixel of an image the label that most of the frame around it votes for.

    Where nothing is mixed there is nothing to vote on. A vote counts by nearness and by likeness of colour.

    mixed : bool[h, w]. alike : float32[D], the weight of a colour by its squared distance; the last holds for
    all that are farther.
    """
    names, votes = np.empty(NEIGHBOURS, np.int16), np.empty(NEIGHBOURS, np.float32)
    around = np.empty((NEIGHBOURS, 6), np.int32)
    for y in range(labels.shape[0]):
        for x in range(labels.shape[1]):
            top, bottom = rows.starts[y], rows.starts[y + 1]
            left, right = columns.starts[x], columns.starts[x + 1]
            if not mixed[y, x]:
                for row in range(top, bottom):
                    for column in range(left, right):
                        out[row, column] = labels[y, x]
                continue
            parties, voters = _look_around(labels, frame, y, x, names, around)
            for row in range(top, bottom):
                for column in range(left, right):
                    votes[:parties] = 0
                    pixel = image[row, column]
                    red, green, blue = np.int32(pixel[0]), np.int32(pixel[1]), np.int32(pixel[2])
                    for voter in range(voters):
                        its = around[voter]
                        off = red - its[3], green - its[4], blue - its[5]
                        distance = off[0] * off[0] + off[1] * off[1] + off[2] * off[2]
                        near = rows.nearness[row, its[1]] * columns.nearness[column, its[2]]
                        votes[its[0]] += near * alike[min(distance, len(alike) - 1)]
                    best = 0
                    for party in range(1, parties):
                        if votes[party] > votes[best]:
                            best = party
                    out[row, column] = names[best]


@njit(cache=True, nogil=True)
def _look_around(
    labels: NDArray[np.int16],
    frame: NDArray[np.uint8],
    y: int,
    x: int,
    names: NDArray[np.int16],
    around: NDArray[np.int32],
) -> tuple[int, int]:
    """List the labels at and around a pixel of the frame; return how many there are, and how many voters.

    around : int32[9, 6], of each voter its label's place in `names`, its lines of `nearness`, its colour.
    """
    parties = voters = 0
    for i in range(max(y - 1, 0), min(y + 2, labels.shape[0])):
        for j in range(max(x - 1, 0), min(x + 2, labels.shape[1])):
            party = 0
            while party < parties and names[party] != labels[i, j]:
                party += 1
            if party == parties:
                names[party] = labels[i, j]
                parties += 1
            its = around[voters]
            its[0], its[1], its[2] = party, i - y + 1, j - x + 1
            for channel in range(3):
                its[3 + channel] = frame[i, j, channel]
            voters += 1
    return parties, voters
