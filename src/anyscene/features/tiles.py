"""Which tiles of the frame a map is in hand for, so that a crop is completed without repeating work."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anyscene.features.view import Rect

TILE = 64
"""Least side of a tile in frame pixels; a multiple of every map's stride, so that crops stay aligned."""


class Tiles:
    """The tiles of a frame that are done. Tiles at the right and bottom end with the frame.

    side: of a tile; both are powers of two, so that tiles are made of whole blocks of a tree's coarsest grid.
    """

    def __init__(self, size: tuple[int, int], coarsest_stride: int = 1) -> None:
        self.size = size
        self.side = max(TILE, coarsest_stride)
        self.done: NDArray[np.bool_] = np.zeros((-(-size[0] // self.side), -(-size[1] // self.side)), bool)

    def missing(self, rect: Rect) -> list[Rect]:
        """Disjoint rectangles of whole tiles that hold all of `rect` which is not done yet."""
        top, left = max(rect.top, 0) // self.side, max(rect.left, 0) // self.side
        bottom = -(-min(rect.bottom, self.size[0]) // self.side)
        right = -(-min(rect.right, self.size[1]) // self.side)
        found: list[list[int]] = []  # top, left, bottom, right in tiles
        growing: dict[tuple[int, int], list[int]] = {}
        for row in range(top, bottom):
            runs = _runs(~self.done[row, left:right], left)
            # A run that continues one of the row above makes that rectangle taller.
            growing = {run: growing.get(run, [row, run[0], row, run[1]]) for run in runs}
            for box in growing.values():
                if box[2] == row and box[0] == row:
                    found.append(box)
                box[2] = row + 1
        return [self._rect(box) for box in found]

    def mark(self, rect: Rect) -> None:
        """Note that the tiles in `rect`, as `missing` gave it, are done."""
        side = self.side
        self.done[rect.top // side : -(-rect.bottom // side), rect.left // side : -(-rect.right // side)] = (
            True
        )

    def _rect(self, box: list[int]) -> Rect:
        side, (height, width) = self.side, self.size
        return Rect(box[0] * side, box[1] * side, min(box[2] * side, height), min(box[3] * side, width))


def _runs(wanted: NDArray[np.bool_], offset: int) -> list[tuple[int, int]]:
    """Start and end of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], wanted, [False]]).astype(np.int8)))
    return [(int(start) + offset, int(end) + offset) for start, end in edges.reshape(-1, 2)]
