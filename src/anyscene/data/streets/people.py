"""People in the street: pedestrians and bicyclists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anyscene.data.streets.camera import Points
from anyscene.data.streets.canvas import BICYCLIST, PEDESTRIAN, Canvas, Color
from anyscene.data.streets.cars import PAINTS
from anyscene.data.streets.things import Spot, box, disc

CLOTHES = np.array(
    [
        (40, 44, 60),
        (34, 34, 36),
        (120, 40, 44),
        (90, 90, 94),
        (60, 80, 120),
        (200, 196, 186),
        (80, 70, 52),
        (60, 84, 60),
    ],
    dtype=float,
)
SKINS = np.array([(214, 172, 146), (176, 128, 98), (110, 76, 58)], dtype=float)
HI_VISIBILITY = np.array([200.0, 226, 40])


def _limb(start: tuple[float, float], end: tuple[float, float], width: float) -> Points:
    first, last = np.array(start), np.array(end)
    along = (last - first) / float(np.linalg.norm(last - first))
    aside = 0.5 * width * np.array([-along[1], along[0]])
    return np.array([first + aside, last + aside, last - aside, first - aside])


def _ring(right: float, up: float, radius: float, width: float) -> Points:
    """Outline a ring as one polygon: around the outside, in over a seam, back around the inside."""
    outer = disc(right, up, radius, radius, 16)
    inner = disc(right, up, radius - width, radius - width, 16)
    return np.vstack([outer, outer[:1], inner[:1], inner[::-1]])


@dataclass(frozen=True)
class Pedestrian(Spot):
    """Someone on foot."""

    def paint(self, canvas: Canvas, rng: np.random.Generator) -> None:
        """Draw limbs, coat and head."""
        coat, trousers = CLOTHES[rng.integers(len(CLOTHES), size=2)] * rng.uniform(0.8, 1.2)
        tall = rng.uniform(0.85, 1.05)
        stride = rng.uniform(0.0, 0.35)
        head = SKINS[rng.integers(3)] if rng.random() < 0.5 else np.array([50.0, 40, 34])
        parts = (
            (_limb((-0.07, 0.9), (-0.08 - stride, 0.03), 0.17), 0.85 * trousers),
            (_limb((0.07, 0.9), (0.08 + stride, 0.03), 0.17), trousers),
            (_limb((-0.22, 1.4), (-0.28 - 0.4 * stride, 0.8), 0.12), 0.8 * coat),
            (_limb((0.22, 1.4), (0.28 + 0.4 * stride, 0.8), 0.12), 0.9 * coat),
            (np.array([(-0.2, 0.8), (0.2, 0.8), (0.24, 1.45), (-0.24, 1.45)]), coat),
            (disc(0, 1.62, 0.11, 0.14, 10), head),
        )
        canvas.standing(self.x, self.z, [(tall * outline, color, PEDESTRIAN) for outline, color in parts])


@dataclass(frozen=True)
class Bicyclist(Spot):
    """A rider and the bicycle, seen along the street or, when crossing, from the side."""

    crossing: bool

    def paint(self, canvas: Canvas, rng: np.random.Generator) -> None:
        """Draw the bicycle, then its rider."""
        coat = HI_VISIBILITY if rng.random() < 0.25 else CLOTHES[rng.integers(len(CLOTHES))]
        trousers = CLOTHES[rng.integers(len(CLOTHES))]
        rubber, frame = np.full(3, 28.0), PAINTS[rng.integers(len(PAINTS))]
        head = PAINTS[rng.integers(len(PAINTS))] if rng.random() < 0.6 else SKINS[rng.integers(3)]
        parts: tuple[tuple[Points, Color], ...]
        if self.crossing:
            parts = (
                (_ring(-0.52, 0.34, 0.36, 0.06), rubber),
                (_ring(0.52, 0.34, 0.36, 0.06), rubber),
                (_limb((-0.52, 0.34), (0.0, 0.32), 0.05), frame),
                (_limb((0.0, 0.32), (-0.15, 0.9), 0.05), frame),
                (_limb((0.0, 0.32), (0.4, 0.85), 0.05), frame),
                (_limb((0.52, 0.34), (0.38, 1.0), 0.05), frame),
                (_limb((-0.12, 0.95), (0.18, 0.65), 0.17), trousers),
                (_limb((0.18, 0.65), (0.02, 0.25), 0.13), trousers),
                (_limb((-0.15, 0.92), (0.15, 1.5), 0.3), coat),
                (_limb((0.15, 1.4), (0.42, 1.02), 0.1), 0.85 * coat),
                (disc(0.24, 1.68, 0.12, 0.14, 10), head),
            )
        else:
            parts = (
                (box(-0.03, 0.03, 0, 0.68), rubber),
                (_limb((-0.28, 1.05), (0.28, 1.05), 0.05), rubber),
                (_limb((-0.1, 0.95), (-0.13, 0.2), 0.14), trousers),
                (_limb((0.1, 0.95), (0.13, 0.42), 0.14), trousers),
                (_limb((-0.2, 1.45), (-0.32, 1.05), 0.11), 0.85 * coat),
                (_limb((0.2, 1.45), (0.32, 1.05), 0.11), 0.85 * coat),
                (np.array([(-0.17, 0.88), (0.17, 0.88), (0.23, 1.5), (-0.23, 1.5)]), coat),
                (disc(0, 1.68, 0.12, 0.15, 10), head),
            )
        canvas.standing(self.x, self.z, [(outline, color, BICYCLIST) for outline, color in parts])
