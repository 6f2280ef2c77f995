"""Trees with leaves, bare trees, hedges."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from anyscene.data.streets.camera import Points
from anyscene.data.streets.canvas import TREE, Canvas, Color
from anyscene.data.streets.textures import foliage, noise, painted
from anyscene.data.streets.things import Spot, Stretch, box

BARK = np.array([74.0, 62, 52])
LEAVES = np.array(
    [
        (52, 78, 40),
        (58, 84, 44),
        (84, 112, 48),
        (80, 104, 52),
        (64, 92, 58),
        (70, 96, 50),
        (112, 118, 54),
        (120, 92, 50),
        (40, 58, 38),
    ],
    dtype=float,
)


def leaf_color(rng: np.random.Generator) -> Color:
    """Draw a colour, from dark conifer through fresh green to autumn brown."""
    return np.asarray(LEAVES[rng.integers(len(LEAVES))] * rng.uniform(0.8, 1.2))


@dataclass(frozen=True)
class StreetTree(Spot):
    """A trunk and a crown; bare trees are labelled over their whole crown, as people label them."""

    height: float
    spread: float
    bare: bool

    def paint(self, canvas: Canvas, rng: np.random.Generator) -> None:
        """Draw the trunk, then the crown over it."""
        reach = 1.35 * self.spread
        if not canvas.in_view(canvas.facing(self.x, self.z, box(-reach, reach, 0, self.height))):
            return
        stem = 0.018 * self.height + 0.06
        fork = self.height * rng.uniform(0.2, 0.4)
        bark = BARK * rng.uniform(0.7, 1.3)
        trunk = np.array([(-stem, 0), (stem, 0), (0.7 * stem, 1.6 * fork), (-0.7 * stem, 1.6 * fork)])
        canvas.polygon(canvas.facing(self.x, self.z, trunk), bark, TREE)
        if self.bare:
            self._branches(canvas, rng, fork, stem, bark)
            return
        crown = foliage(rng, leaf_color(rng), 144 if self.z < 20 else 64)
        half = 0.65 * (self.height - fork)
        flat = np.array([(-1, 1), (1, 1), (1, -1), (-1, -1)]) * (reach, half) + (
            0,
            self.height - half,
        )
        canvas.textured(canvas.facing(self.x, self.z, flat), crown, TREE)

    def _branches(
        self, canvas: Canvas, rng: np.random.Generator, fork: float, stem: float, bark: Color
    ) -> None:
        """Grow five generations of branches; each branch bears three."""
        angles = np.linspace(0, 2 * np.pi, 20, endpoint=False)
        reach = 0.85 + 0.15 * rng.random(20)
        middle, half = 0.5 * (fork + self.height), 0.5 * (self.height - fork)
        hull = np.column_stack(
            [0.9 * self.spread * reach * np.cos(angles), middle + half * reach * np.sin(angles)]
        )
        canvas.polygon(canvas.facing(self.x, self.z, hull), None, TREE)

        depth = canvas.camera.depth(self.x, self.z)
        color = canvas.seen_from(depth, bark * 0.8)
        pixels_a_metre = abs(canvas.camera.matrix[1, 1]) / max(depth, 1)
        starts, tilts = np.array([(0.0, 0.7 * fork)]), np.array([0.0])
        length, width = 0.38 * (self.height - fork), 2 * stem
        for _ in range(5):
            starts, tilts = (
                np.repeat(starts, 3, axis=0),
                np.repeat(tilts, 3) + rng.normal(0, 0.5, 3 * len(tilts)),
            )
            tilts += np.tile([-0.45, 0.0, 0.45], len(tilts) // 3)
            reaches = length * rng.uniform(0.6, 1.2, len(tilts))
            ends = starts + reaches[:, None] * np.column_stack([np.sin(tilts), np.cos(tilts)])
            self._lines(canvas, starts, ends, color, max(1, round(width * pixels_a_metre)))
            starts, length, width = ends, 0.66 * length, 0.5 * width

    def _lines(
        self, canvas: Canvas, starts: Points, ends: Points, color: tuple[float, ...], thickness: int
    ) -> None:
        pairs = canvas.facing(self.x, self.z, np.stack([starts, ends], axis=1).reshape(-1, 2))
        projected = canvas.camera.outline(pairs)
        if len(projected) == len(pairs):
            segments = np.rint(np.clip(projected, -1e4, 1e4)).astype(np.int32).reshape(-1, 2, 2)
            cv2.polylines(canvas.image, list(segments), False, color, thickness)


@dataclass(frozen=True)
class Hedge(Stretch):
    """A clipped wall of leaves along the pavement."""

    height: float

    def paint(self, canvas: Canvas, rng: np.random.Generator) -> None:
        """Draw the side that faces the street."""
        (x0, z0), (x1, z1) = self.near, self.far
        columns = int(np.clip(14 * np.hypot(x1 - x0, z1 - z0), 8, 500))
        brightness = 0.9 + 0.2 * noise(rng, 24, columns, 0.7)
        texture = painted(leaf_color(rng), np.maximum(brightness, 0))
        corners = np.array([(x0, self.height, z0), (x1, self.height, z1), (x1, 0, z1), (x0, 0, z0)])
        canvas.textured(corners, texture, TREE)
