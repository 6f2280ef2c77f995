"""Gaussian filtering of many channels in few dimensions by a permutohedral lattice (Adams et al., 2010)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.errors import ConfigError
from anyscene.evaluation.baselines import lattice_kernels

KEY_BITS = 60
"""What the packed coordinates of a vertex may take of an int64."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """A normalised Gaussian filter K over n points.

    K approximates D^-½ G D^-½, where G holds exp(-½ |f - f'|²) for all pairs of points, a point with itself
    among them, and D their row sums. It is not quite symmetric: the lattice has no vertices where there are
    no points, so that the order of the directions in which it is blurred matters a little.

    vertex : uint32[n, d + 1], the corners of the simplex that each point lies in.
    weight : float32[n, d + 1], what each corner gets of it, times the normalisation.
    neighbour : uint32[d + 1, m, 2], both neighbours of each of the m vertices along each direction.
    """

    vertex: NDArray[np.uint32]
    weight: NDArray[np.float32]
    neighbour: NDArray[np.uint32]

    def add_filtered(self, values: NDArray[np.float32], factor: float, out: NDArray[np.float32]) -> None:
        """Add `factor` times K @ values to `out`; both are float32[n, groups, LANES]."""
        blurred = self._blurred(values)
        lattice_kernels.add_slice(blurred, self.vertex, self.weight, factor, out)

    def _blurred(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        shape = (self.neighbour.shape[1] + 1, *values.shape[1:])
        lattice, scratch = np.empty(shape, np.float32), np.empty(shape, np.float32)
        lattice_kernels.splat(values, self.vertex, self.weight, lattice)
        blurred: NDArray[np.float32] = lattice_kernels.blur(lattice, scratch, self.neighbour)
        return blurred


def make_lattice(features: NDArray[np.float32]) -> Lattice:
    """Make the filter over points float32[n, d], given in standard deviations of the Gaussian."""
    dimensions = features.shape[1]
    bits = KEY_BITS // dimensions
    axes = np.arange(1, dimensions + 1)
    # The blur's variance is 2/3 (d + 1)²; this makes it that of a unit Gaussian.
    scale = np.sqrt(2 / 3) * (dimensions + 1) / np.sqrt(axes * (axes + 1))
    largest = scale * np.abs(features).max(axis=0, initial=0.0)
    reach = largest.sum() + (axes * largest).max() + dimensions + 1
    if reach >= 2 ** (bits - 1):
        raise ConfigError(
            f"points lie up to {reach:.0f} lattice steps from the origin, but only {2 ** (bits - 1)} can be "
            "told apart; use a wider kernel"
        )
    vertex, weight, keys = lattice_kernels.build(features, tuple(scale.astype(np.float32)), bits)
    neighbour = lattice_kernels.neighbours(keys, dimensions, bits)
    sums = np.zeros((len(features), 1, lattice_kernels.LANES), np.float32)
    plain = Lattice(vertex, weight, neighbour)
    plain.add_filtered(np.ones_like(sums), 1.0, sums)
    return Lattice(vertex, weight / np.sqrt(sums[:, 0, :1]), neighbour)
