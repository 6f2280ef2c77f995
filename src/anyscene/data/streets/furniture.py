"""What stands along a street: lamps, signs, traffic lights, bollards, fences, bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anyscene.data.streets.canvas import FENCE, POLE, SIGN, UNLABELED, Canvas, Color, Part
from anyscene.data.streets.textures import boards
from anyscene.data.streets.things import Spot, Stretch, box, disc

METALS = np.array([(96, 98, 100), (60, 62, 64), (36, 40, 38), (150, 150, 148), (52, 70, 56)], dtype=float)
PLATES = np.array([(40, 80, 160), (190, 40, 40), (236, 236, 232), (30, 110, 70), (230, 190, 40)], dtype=float)
RAILS = ((0.12, 0.2), (0.92, 1.0))  # lower and upper edge, as shares of a fence's height


def metal(rng: np.random.Generator) -> Color:
    """Draw a colour of painted or galvanised steel."""
    return np.asarray(METALS[rng.integers(len(METALS))] * rng.uniform(0.8, 1.2))


@dataclass(frozen=True)
class Lamp(Spot):
    """A lamp post whose arm reaches over the road (arm > 0: to the right)."""

    height: float
    arm: float

    def paint(self, canvas: Canvas, rng: np.random.Generator) -> None:
        """Draw the post, the arm and the head."""
        color = metal(rng)
        post = np.array([(-0.08, 0), (0.08, 0), (0.05, self.height), (-0.05, self.height)])
        arm = box(min(0, self.arm), max(0, self.arm), self.height - 0.12, self.height)
        head = box(self.arm - 0.35, self.arm + 0.35, self.height - 0.15, self.height + 0.08)
        canvas.standing(self.x, self.z, [(part, color, POLE) for part in (post, arm, head)])


@dataclass(frozen=True)
class Sign(Spot):
    """One or two plates on a post."""

    def paint(self, canvas: Canvas, rng: np.random.Generator) -> None:
        """Draw the post and its plates."""
        top = rng.uniform(2.3, 3.2)
        parts: list[Part] = [(box(-0.04, 0.04, 0, top), metal(rng), POLE)]
        for _ in range(rng.integers(1, 3)):
            size = rng.uniform(0.35, 0.6)
            shapes = (
                disc(0, top, size, size),
                np.array([(-size, top - 0.8 * size), (size, top - 0.8 * size), (0, top + size)]),
                box(-size * 1.3, size * 1.3, top - 0.7 * size, top + 0.7 * size),
                box(-0.7 * size, 0.7 * size, top - size, top + size),
            )
            plate = shapes[rng.integers(len(shapes))]
            rim, face = PLATES[rng.choice(len(PLATES), 2, replace=False)]
            middle = plate.mean(axis=0)
            parts += [(plate, rim, SIGN), (middle + 0.72 * (plate - middle), face, SIGN)]
            top -= 1.9 * size
        canvas.standing(self.x, self.z, parts)


@dataclass(frozen=True)
class TrafficLight(Spot):
    """A signal head (a sign, by CamVid's mapping) on a pole."""

    def paint(self, canvas: Canvas, rng: np.random.Generator) -> None:
        """Draw the pole, the head and its three lamps."""
        parts: list[Part] = [
            (box(-0.07, 0.07, 0, 3), metal(rng), POLE),
            (box(-0.26, 0.26, 2.2, 3.4), np.full(3, 22.0), SIGN),
        ]
        lamps = np.array([(240, 40, 30), (250, 170, 30), (40, 230, 140)], dtype=float)
        lit = rng.integers(3)
        for place, color in enumerate(lamps):
            shown = color if place == lit else 0.25 * color
            parts.append((disc(0, 3.2 - 0.37 * place, 0.14, 0.14, 8), shown, SIGN))
        canvas.standing(self.x, self.z, parts)


@dataclass(frozen=True)
class Bollard(Spot):
    """A short post that keeps cars off the pavement."""

    def paint(self, canvas: Canvas, rng: np.random.Generator) -> None:
        """Draw a post with a white band."""
        color = np.full(3, 40.0) if rng.random() < 0.8 else np.array([225.0, 190, 40])
        post, band = box(-0.09, 0.09, 0, 1), box(-0.09, 0.09, 0.8, 0.9)
        canvas.standing(self.x, self.z, [(post, color, POLE), (band, np.full(3, 230.0), POLE)])


@dataclass(frozen=True)
class Bin(Spot):
    """A litter bin or a cabinet: something that no class covers."""

    def paint(self, canvas: Canvas, rng: np.random.Generator) -> None:
        """Draw a box with a lid."""
        width, height = rng.uniform(0.25, 0.7), rng.uniform(0.9, 1.5)
        color = np.array([(40, 44, 42), (60, 90, 66), (120, 124, 124), (150, 50, 44)])[rng.integers(4)] * 1.0
        body = box(-width, width, 0, height)
        canvas.polygon(canvas.facing(self.x, self.z, body), color, UNLABELED)
        canvas.polygon(
            canvas.facing(self.x, self.z, box(-width, width, height - 0.15, height)), 0.7 * color, UNLABELED
        )


@dataclass(frozen=True)
class Fence(Stretch):
    """Railings that one sees through, or boards; labelled over its whole face, as people label it."""

    height: float
    solid: bool

    def paint(self, canvas: Canvas, rng: np.random.Generator) -> None:
        """Draw boards, or rails and bars with the view between them left as it is."""
        near, far = np.array([self.near[0], 0, self.near[1]]), np.array([self.far[0], 0, self.far[1]])
        up = np.array([0, self.height, 0])
        length = float(np.linalg.norm(far - near))
        face = np.array([near + up, far + up, far, near])
        if self.solid:
            # Green boards look like hedges, brown ones like brick.
            colors = np.array([(70, 96, 58), (112, 84, 60), (130, 122, 108), (150, 118, 84)], dtype=float)
            canvas.textured(face, boards(rng, colors[rng.integers(4)], min(length, 60)), FENCE)
            return
        color = metal(rng)
        rails = [
            np.array([near + top * up, far + top * up, far + low * up, near + low * up]) for low, top in RAILS
        ]
        canvas.polygons([(face, None, FENCE), *((rail, color, None) for rail in rails)])
        along = (far - near) / length
        places = np.arange(0, length - 0.1, max(0.22, length / 90))
        thick = np.where(np.arange(len(places)) % 8, 0.05, 0.11)
        feet = near + places[:, None] * along
        ends = feet + thick[:, None] * along
        bars = np.stack([feet, ends, ends + up, feet + up], axis=1)
        canvas.polygons([(bar, color, None) for bar in bars])
