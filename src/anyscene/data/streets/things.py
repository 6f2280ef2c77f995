"""What everything that stands in a street has in common: a place, a distance, simple outlines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np

from anyscene.data.streets.camera import Points
from anyscene.data.streets.canvas import Canvas


class Thing(Protocol):
    """Something that stands on the ground and hides what is farther away."""

    @property
    def distance(self) -> float:
        """Metres ahead of the camera; farther things are painted first."""

    def paint(self, canvas: Canvas, rng: np.random.Generator) -> None:
        """Paint it, drawing from rng whatever the plan leaves open; what is drawn must not depend on size."""


@dataclass(frozen=True)
class Spot:
    """A thing at one place of the ground, (x, z)."""

    x: float
    z: float

    @property
    def distance(self) -> float:
        """Metres ahead of the camera."""
        return self.z


@dataclass(frozen=True)
class Stretch:
    """A thing along a line on the ground, from its near end (x, z) to its far end."""

    near: tuple[float, float]
    far: tuple[float, float]

    @property
    def distance(self) -> float:
        """Metres ahead of the far end: whatever stands in front of it is nearer than that."""
        return max(self.near[1], self.far[1])


def box(left: float, right: float, low: float, high: float) -> Points:
    """Give the corners of an upright rectangle."""
    return np.array([(left, low), (right, low), (right, high), (left, high)])


def disc(right: float, up: float, half_width: float, half_height: float, corners: int = 14) -> Points:
    """Give the outline of an ellipse."""
    return np.asarray(_circle(corners) * (half_width, half_height) + (right, up))


@cache
def _circle(corners: int) -> Points:
    angle = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    circle: Points = np.column_stack([np.cos(angle), np.sin(angle)])
    circle.flags.writeable = False
    return circle
