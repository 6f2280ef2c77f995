"""Buildings: boxes along the street with windows, shop fronts, roofs and chimneys."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from anyscene.data.streets.camera import Points
from anyscene.data.streets.canvas import BUILDING, SIGN, Canvas, Color, Part
from anyscene.data.streets.textures import Texture, masonry
from anyscene.data.streets.things import Stretch, box

WALLS = np.array(
    [
        (150, 84, 66),  # red brick
        (128, 92, 72),  # brown brick
        (176, 152, 112),  # London stock
        (196, 178, 148),  # sandstone
        (128, 126, 124),  # concrete, as grey as the road
        (104, 104, 108),
        (158, 158, 156),
        (222, 216, 204),  # render, as white as an overcast sky
        (206, 190, 160),
        (116, 126, 106),
        (92, 70, 62),  # sooty
    ],
    dtype=float,
)
ROOFS = np.array([(78, 78, 86), (96, 90, 88), (128, 76, 60), (64, 60, 62)], dtype=float)
COURSES = (0, 3, 4, 6)  # texels between the joints of a wall; 0 is plain render
DEPTH = 9.0  # metres from front to back
FASCIAS = np.array(
    [(40, 70, 130), (150, 40, 40), (30, 96, 60), (220, 214, 200), (40, 40, 44), (190, 150, 40)], dtype=float
)


@dataclass(frozen=True)
class Building(Stretch):
    """A box whose front runs from near to far.

    side: -1 left of the street, 1 right.
    gable: whether the near end wall shows over or beside the next building.
    across: True for a building at the end of the street, whose front faces the camera.
    """

    side: int
    height: float
    shop: bool = False
    gable: bool = True
    across: bool = False

    def paint(self, canvas: Canvas, rng: np.random.Generator) -> None:
        """Draw the gable, the roof and then the front, which may hide both."""
        if not canvas.in_view(self._footprint()):
            return
        wall = WALLS[rng.integers(len(WALLS))] * rng.uniform(0.8, 1.12) + rng.uniform(-8, 8, 3)
        courses = COURSES[rng.integers(len(COURSES))]
        texels = 18 if self.near[1] < 14 else 11 if self.near[1] < 35 else 6  # a metre
        if self.gable and not self.across:
            self._gable(canvas, masonry(rng, round(texels * self.height / 2), 4 * texels, wall, courses))
        self._roof(canvas, rng, wall)
        length = float(np.hypot(self.far[0] - self.near[0], self.far[1] - self.near[1]))
        front = _front(rng, length, self.height, texels, wall, courses, self.shop)
        front = cv2.convertScaleAbs(front, alpha=canvas.light.on_wall(self._facing))
        (x0, z0), (x1, z1) = self.near, self.far
        corners = np.array([(x0, self.height, z0), (x1, self.height, z1), (x1, 0, z1), (x0, 0, z0)])
        canvas.textured(corners, front, BUILDING)
        if self.shop and rng.random() < 0.3:
            self._hanging_sign(canvas, rng)

    def _footprint(self) -> Points:
        front = np.array([(x, 0.0, z) for x, z in (self.near, self.far)])
        to_back = np.array([0, 0, DEPTH] if self.across else [self.side * DEPTH, 0, 0])
        return np.vstack([front, (front + to_back)[::-1]])

    @property
    def _facing(self) -> int:
        return 0 if self.across else -self.side

    def _gable(self, canvas: Canvas, texture: Texture) -> None:
        (x, z), back = self.near, self.near[0] + self.side * DEPTH
        corners = np.array([(x, self.height, z), (back, self.height, z), (back, 0, z), (x, 0, z)])
        texture = cv2.convertScaleAbs(texture, alpha=canvas.light.on_wall(0))
        canvas.textured(corners, texture, BUILDING)

    def _roof(self, canvas: Canvas, rng: np.random.Generator, wall: Color) -> None:
        """Draw a pitched roof, or none that shows from the street, and up to two chimneys."""
        rise = rng.uniform(1.5, 3.5) * (rng.random() < 0.5)
        tiles = ROOFS[rng.integers(len(ROOFS))] * rng.uniform(0.8, 1.2)
        eaves = np.array([(x, self.height, z) for x, z in (self.near, self.far)])
        to_ridge = np.array([0, rise, DEPTH / 2] if self.across else [self.side * DEPTH / 2, rise, 0])
        to_back = to_ridge * (2, 0, 2)
        parts: list[Part] = []
        if rise:
            parts = [
                (np.array([eaves[0], eaves[0] + to_ridge, eaves[0] + to_back]), 0.8 * wall, BUILDING),
                (
                    np.vstack([eaves, (eaves + to_ridge)[::-1]]),
                    tiles * canvas.light.on_wall(self._facing),
                    BUILDING,
                ),
            ]
        for place in rng.uniform(0.1, 0.9, rng.integers(0, 3)):
            x, _, z = eaves[0] + place * (eaves[1] - eaves[0]) + to_ridge
            stack = canvas.facing(x, z, box(-0.5, 0.5, self.height - 1, self.height + rise + 1.1))
            parts.append((stack, 0.85 * wall, BUILDING))
        canvas.polygons(parts)

    def _hanging_sign(self, canvas: Canvas, rng: np.random.Generator) -> None:
        """A board that sticks out over the pavement."""
        place = rng.uniform(0.1, 0.9)
        x = self.near[0] + place * (self.far[0] - self.near[0])
        z = self.near[1] + place * (self.far[1] - self.near[1])
        low, width = rng.uniform(2.8, 3.6), rng.uniform(0.7, 1.3)
        out = 0.0 if self.across else -self.side * width
        board = np.array([(x, low, z), (x + out, low, z), (x + out, low + 1, z), (x, low + 1, z)])
        canvas.polygon(board, FASCIAS[rng.integers(len(FASCIAS))], SIGN)


def _front(
    rng: np.random.Generator, length: float, height: float, texels: int, wall: Color, courses: int, shop: bool
) -> Texture:
    """Draw a front with rows of windows and, for a shop, glass and a fascia at street level."""
    rows, columns = min(round(height * texels), 500), min(max(round(length * texels), 8), 500)
    front = masonry(rng, rows, columns, wall, courses)
    up, along = rows / height, columns / length  # texels a metre
    storey = rng.uniform(2.8, 3.6)
    bay = rng.uniform(1.8, 3.4)
    wide, tall = bay * rng.uniform(0.35, 0.75), storey * rng.uniform(0.42, 0.68)
    frame = (wall * (0.6 if rng.random() < 0.5 else 1.35)).tolist()
    glass = np.array([58, 64, 72]) * rng.uniform(0.5, 1.5)
    storeys, bays = max(1, int(height / storey)), max(1, int(length / bay))
    margin = (length - bays * bay) / 2
    glints = rng.uniform(0.6, 1.5, (storeys, bays)) + 1.2 * (rng.random((storeys, bays)) < 0.12)
    panes = (glints[..., None] * glass).tolist()
    for floor in range(1 if shop else 0, storeys):
        top = round(rows - (floor + 0.5) * storey * up - 0.5 * tall * up)
        bottom = round(top + tall * up)
        for window in range(bays):
            left = round((margin + (window + 0.5) * bay - 0.5 * wide) * along)
            right = round(left + wide * along)
            cv2.rectangle(front, (left - 1, top - 1), (right + 1, bottom + 1), frame, -1)
            cv2.rectangle(front, (left, top), (right, bottom), panes[floor][window], -1)
            cv2.line(front, (left, (top + bottom) // 2), (right, (top + bottom) // 2), frame, 1)
    if shop:
        sill, fascia, crown = (round(rows - metres * up) for metres in (0.5, 2.5, 3.2))
        inset, post_width = round(0.3 * along), max(1, round(0.12 * along))
        cv2.rectangle(front, (inset, fascia), (columns - inset, sill), glass.tolist(), -1)
        for post in np.rint(np.arange(0.3, length, rng.uniform(1.5, 3)) * along).astype(int).tolist():
            cv2.line(front, (post, fascia), (post, sill), frame, post_width)
        board = FASCIAS[rng.integers(len(FASCIAS))] * rng.uniform(0.7, 1.1)
        cv2.rectangle(front, (0, crown), (columns, fascia), board.tolist(), -1)
    return front
