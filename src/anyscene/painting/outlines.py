"""Beliefs along outlines: what neighbouring cells of like colour believe is mixed before it is painted.

Things end where colours change, and a cell of the network's map is wider than an outline:
docs/research/2026-11-17-outlines-and-shades.md has what this gains and costs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anyscene.painting import outline_kernels as kernels

COLOR_REACH = 10.0
"""Steps of 255: the standard deviation of the colours that count as alike; see the research note."""

PLACE_REACH = 1.5
"""Cells: the standard deviation of the places that count as near; see the research note."""

NEGLIGIBLE = 1e-3
"""Neighbours whose colours count for less are left out, which keeps the table of weights small."""


def follow_outlines(scores: NDArray[np.float32], colors: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Mix the log-beliefs of each cell, float32[h, w, C], with those of the eight around it of like colour.

    colors: mean colours of the cells, uint8[h, w, 3].
    """
    mixed = np.empty_like(scores)
    # Kernels are compiled for arrays that can be written.
    kernels.mix_alike(scores, np.require(colors, requirements=["C", "W"]), _WEIGHTS, mixed)
    return mixed


def _weights() -> NDArray[np.float32]:
    """Weights of a neighbour at a side and at a corner, by the squared distance of its colour; 0 beyond."""
    distance = np.arange(int(-2 * np.log(NEGLIGIBLE) * COLOR_REACH**2))
    steps = np.array([[1.0], [2.0]])  # squared distances in cells
    weights = np.exp(-distance / (2 * COLOR_REACH**2) - steps / (2 * PLACE_REACH**2)).astype(np.float32)
    return np.pad(weights, ((0, 0), (0, 1)))


_WEIGHTS = _weights()
