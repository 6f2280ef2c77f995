"""The ground: road, markings, pavements, verges, and the shadows that fall on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.data.streets.camera import Points
from anyscene.data.streets.canvas import PAVEMENT, ROAD, TREE, Canvas, Color
from anyscene.data.streets.textures import noise_tile

STATIONS = np.array([0.5, 1, 2, 3, 4.5, 6, 8, 11, 15, 20, 26, 34, 44, 58, 76, 100, 140, 200])
"""Metres ahead at which the bending street is sampled."""

GRAIN_TEXELS = 24  # a metre
WHITE, YELLOW = np.array([214.0, 214, 208]), np.array([196.0, 160, 60])


@dataclass(frozen=True)
class Course:
    """Where the street runs: left and right kerb and the back of each pavement, in metres at z = 0.

    bend: metres sideways per square metre ahead.
    """

    left: float
    right: float
    left_back: float
    right_back: float
    bend: float

    def at(self, x: float, z: float) -> float:
        """Follow the street's bend from a place at z = 0."""
        return x + self.bend * z * z

    def strip(self, left: float, right: float, start: float = 0.5, end: float = 200.0) -> Points:
        """Outline, on the ground, what lies between two lines along the street."""
        first, last = np.searchsorted(STATIONS, (start, end))
        ahead = np.array([start, *STATIONS[first:last].tolist(), end])
        bent = self.bend * ahead**2
        edge = np.column_stack([left + bent, np.zeros(len(ahead)), ahead])
        other = np.column_stack([right + bent, np.zeros(len(ahead)), ahead])
        return np.vstack([edge, other[::-1]])


def paint_ground(
    canvas: Canvas,
    rng: np.random.Generator,
    course: Course,
    grassy: tuple[bool, bool],
    side_roads: list[tuple[int, float, float]],
) -> None:
    """Paint everything flat.

    grassy: whether grass lies behind the left and the right pavement.
    side_roads: (side, from z, to z) of each street that joins.
    """
    asphalt = np.full(3, rng.uniform(78, 128)) + rng.uniform(-6, 6, 3)
    slabs = np.full(3, rng.uniform(100, 160)) + np.array([8, 3, -4]) * rng.uniform(-0.5, 1.5)
    if rng.random() < 0.35:
        slabs = asphalt * rng.uniform(0.9, 1.15)
    kerb = 0.5 * slabs + 90
    grass = np.array([96.0, 112, 58]) * rng.uniform(0.75, 1.2)

    for side, is_grass, back in ((-1, grassy[0], course.left_back), (1, grassy[1], course.right_back)):
        beyond = course.strip(min(back, side * 200), max(back, side * 200))
        canvas.polygon(beyond, grass if is_grass else slabs, TREE if is_grass else PAVEMENT)
    canvas.polygon(course.strip(course.left_back, course.right_back), slabs, PAVEMENT)
    if rng.random() < 0.5:
        _joints(canvas, course, slabs * 0.8, rng.uniform(0.6, 1.2))
    canvas.polygon(course.strip(course.left - 0.14, course.right + 0.14), kerb, PAVEMENT)
    canvas.polygon(course.strip(course.left, course.right), asphalt, ROAD)
    for side, start, end in side_roads:
        middle = 0.5 * (start + end)
        edge = course.at(course.left if side < 0 else course.right, middle) - 0.2 * side
        corners = np.array(
            [(edge, 0, start), (edge, 0, end), (edge + side * 60, 0, end), (edge + side * 60, 0, start)]
        )
        canvas.polygon(corners, asphalt, ROAD)
    _markings(canvas, rng, course)
    _patches(canvas, rng, course, asphalt)
    _grain(canvas, rng)


def _joints(canvas: Canvas, course: Course, color: Color, spacing: float) -> None:
    """Joints across the pavements, as far as one could see them."""
    pavements = ((course.left_back, course.left), (course.right, course.right_back))
    places = np.arange(1.5, 22, spacing)
    canvas.polygons(
        [(course.strip(*sides, z, z + 0.035), color, None) for sides in pavements for z in places]
    )


def _markings(canvas: Canvas, rng: np.random.Generator, course: Course) -> None:
    middle = course.left + rng.uniform(0.4, 0.6) * (course.right - course.left)
    period = rng.uniform(4, 9)
    dash = period * rng.uniform(0.35, 0.7)
    worn = WHITE * rng.uniform(0.7, 1.1)
    if rng.random() < 0.85:
        places = np.arange(0.5 + rng.uniform(0, period), 70, period)
        canvas.polygons(
            [(course.strip(middle - 0.07, middle + 0.07, z, z + dash), worn, None) for z in places]
        )
    if rng.random() < 0.6:
        color = YELLOW if rng.random() < 0.6 else worn
        for offset in (0.25, 0.5):
            canvas.polygon(course.strip(course.left + offset, course.left + offset + 0.08), color, None)
            canvas.polygon(course.strip(course.right - offset - 0.08, course.right - offset), color, None)
    if rng.random() < 0.25:
        z = rng.uniform(7, 22)
        stripes = np.arange(course.left + 0.3, course.right - 0.5, 1.1)
        canvas.polygons([(course.strip(x, x + 0.55, z, z + 2.6), worn, None) for x in stripes])
    if rng.random() < 0.35:
        z = rng.uniform(6, 20)
        canvas.polygon(course.strip(course.left + 0.2, middle, z, z + 0.3), worn, None)
    if rng.random() < 0.3:
        x, z = 0.5 * (course.left + middle), rng.uniform(6, 14)
        shaft = course.strip(x - 0.08, x + 0.08, z, z + 2.2)
        head = np.array([(x - 0.4, 0, z + 2.2), (x + 0.4, 0, z + 2.2), (x, 0, z + 3.6)])
        canvas.polygon(shaft, worn, None)
        canvas.polygon(head, worn, None)


def _patches(canvas: Canvas, rng: np.random.Generator, course: Course, asphalt: Color) -> None:
    """Repairs and manhole covers."""
    for _ in range(rng.integers(0, 5)):
        x, z = rng.uniform(course.left, course.right - 1.5), rng.uniform(4, 25)
        patch = course.strip(x, x + rng.uniform(0.4, 1.5), z, z + rng.uniform(0.5, 6))
        canvas.polygon(patch, asphalt * rng.uniform(0.72, 1.15), None)


def _grain(canvas: Canvas, rng: np.random.Generator) -> None:
    """Roughen all the ground painted so far; the grain repeats every 21 metres."""
    top = int(np.clip(np.ceil(canvas.camera.horizon + 1), 0, canvas.truth.shape[0]))
    below = canvas.image[top:]
    if not below.size:
        return
    plane = np.zeros((4, 3))  # from texels to the ground
    plane[0, 0] = plane[2, 1] = 1 / GRAIN_TEXELS
    plane[[0, 2], 2] = rng.uniform(0, 20, 2)
    plane[3, 2] = 1
    up = np.array([[1.0, 0, 0], [0, 1, -top], [0, 0, 1]])
    size = (below.shape[1], below.shape[0])
    grain = cv2.warpPerspective(
        _grain_tile(), up @ canvas.camera.matrix @ plane, size, borderMode=cv2.BORDER_WRAP
    )
    strength = rng.uniform(0.5, 1.2)
    grain = cv2.convertScaleAbs(grain, alpha=strength, beta=128 * (1 - strength))
    cv2.multiply(below, cv2.merge([grain] * 3), dst=below, scale=1 / 128)


@cache
def _grain_tile() -> NDArray[np.uint8]:
    tile: NDArray[np.uint8] = np.clip(128 + 7 * noise_tile(0.75) + 9 * noise_tile(0.35), 0, 255).astype(
        np.uint8
    )
    tile.flags.writeable = False
    return tile
