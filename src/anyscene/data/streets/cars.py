"""Cars, vans and buses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anyscene.data.streets.camera import Points
from anyscene.data.streets.canvas import CAR, Canvas, Part
from anyscene.data.streets.things import Spot, box, disc

PAINTS = np.array(
    [
        (130, 48, 40),  # as red as brick
        (176, 36, 34),
        (40, 60, 120),
        (36, 38, 42),
        (150, 152, 156),  # as grey as the road
        (112, 114, 118),
        (228, 228, 226),
        (52, 84, 64),
        (176, 160, 120),
        (70, 110, 150),
    ],
    dtype=float,
)


@dataclass(frozen=True)
class CarShape:
    """A body as wide as `width`, seen from its right side.

    profile: (metres ahead of the middle, metres up), from the rear bottom over the roof to the front bottom.
    glass: which stretches of the profile are windows. side_glass: outline of the side windows.
    wheels: where the axles are, and how large the wheels are.
    """

    profile: Points
    glass: tuple[int, ...]
    side_glass: Points
    wheels: tuple[float, float]
    width: float
    wheel_radius: float = 0.31


HATCHBACK = CarShape(
    np.array(
        [
            (-1.95, 0.3),
            (-2, 0.85),
            (-1.85, 1.0),
            (-1.5, 1.46),
            (0.1, 1.47),
            (0.95, 0.97),
            (1.9, 0.8),
            (2, 0.3),
        ]
    ),
    (2, 4),
    np.array([(-1.65, 0.95), (-1.35, 1.38), (0.05, 1.38), (0.8, 0.95)]),
    (-1.25, 1.25),
    1.72,
)
SALOON = CarShape(
    np.array(
        [
            (-2.2, 0.3),
            (-2.25, 0.9),
            (-1.6, 1.0),
            (-1.0, 1.4),
            (0.2, 1.42),
            (1.0, 0.95),
            (2.15, 0.8),
            (2.2, 0.3),
        ]
    ),
    (2, 4),
    np.array([(-1.4, 0.95), (-0.9, 1.33), (0.15, 1.33), (0.85, 0.95)]),
    (-1.35, 1.35),
    1.78,
)
VAN = CarShape(
    np.array(
        [
            (-2.6, 0.35),
            (-2.65, 1.1),
            (-2.65, 1.4),
            (-2.55, 2.1),
            (1.2, 2.15),
            (1.9, 1.2),
            (2.5, 1.0),
            (2.6, 0.35),
        ]
    ),
    (2, 4),
    np.array([(0.2, 1.2), (0.2, 1.85), (1.05, 1.85), (1.6, 1.2)]),
    (-1.6, 1.6),
    1.95,
)
BUS = CarShape(
    np.array([(-5, 0.35), (-5, 1.4), (-5, 2.4), (-4.95, 3.0), (4.9, 3.0), (5, 2.4), (5, 1.2), (5, 0.35)]),
    (1, 5),
    np.array([(-4.7, 1.3), (-4.7, 2.4), (4.7, 2.4), (4.7, 1.3)]),
    (-3, 3),
    2.5,
    0.48,
)
SHAPES = (HATCHBACK, SALOON, VAN, BUS)


@dataclass(frozen=True)
class Car(Spot):
    """A car on the ground at (x, z); heading 0 drives away from the camera, pi towards it."""

    heading: float
    shape: CarShape

    def paint(self, canvas: Canvas, rng: np.random.Generator) -> None:
        """Draw the faces that are turned to the camera: those round the profile, then the near side."""
        shape, light = self.shape, canvas.light
        color = PAINTS[rng.integers(len(PAINTS))] * rng.uniform(0.8, 1.15)
        glass = np.array([52.0, 58, 64]) * rng.uniform(0.6, 1.6)
        half = shape.width / 2
        ahead, across, up = self._of_camera(canvas.camera.height)
        rear, front = shape.profile[0, 0], shape.profile[-1, 0]
        under = np.array([(rear, -half, 0), (rear, half, 0), (front, half, 0), (front, -half, 0)])

        parts: list[Part] = [(under * (1.04, 1.1, 1), np.full(3, 24.0), None)]
        parts += self._wheels(-0.9 * half) + self._wheels(0.9 * half)
        stretches = list(zip(shape.profile[:-1], shape.profile[1:], strict=True))
        for place in range(len(stretches)) if ahead > 0 else reversed(range(len(stretches))):
            start, end = stretches[place]
            rise, run = end[1] - start[1], end[0] - start[0]
            if run * (up - start[1]) <= rise * (ahead - start[0]):
                continue  # turned away
            shade = light.on_wall(0) * (0.85 + 0.3 * run / np.hypot(rise, run))
            parts.append((_strip(start, end, half), shade * color, CAR))
            if place in shape.glass:
                parts.append((_strip(start, end, 0.86 * half), shade * glass, CAR))
        parts += self._lamps_and_plate(ahead, half)
        if abs(across) > half:
            side = float(np.sign(across)) * half
            shade = light.on_wall(round(float(np.sign(side) * np.cos(self.heading))))
            sill = np.array([(rear, 0.3), (rear, 0.5), (front, 0.5), (front, 0.3)])
            parts.append((_at_side(shape.profile, side), 0.9 * shade * color, CAR))
            parts.append((_at_side(shape.side_glass, side), shade * glass, CAR))
            parts.append((_at_side(sill, side), 0.65 * shade * color, CAR))
            parts += self._wheels(side)
        canvas.polygons(parts, self._in_world)

    def _of_camera(self, height: float) -> tuple[float, float, float]:
        """Where the camera is, seen from the car: ahead, to the right, up."""
        sine, cosine = np.sin(self.heading), np.cos(self.heading)
        return float(-self.x * sine - self.z * cosine), float(-self.x * cosine + self.z * sine), height

    def _in_world(self, local: Points) -> Points:
        sine, cosine = np.sin(self.heading), np.cos(self.heading)
        turn = np.array([(sine, 0, cosine), (cosine, 0, -sine), (0, 1, 0)])
        return np.asarray(local @ turn + (self.x, 0.0, self.z))

    def _wheels(self, across: float) -> list[Part]:
        radius = self.shape.wheel_radius
        tyres = [disc(axle, radius, radius, radius, 12) for axle in self.shape.wheels]
        hubs = [disc(axle, radius, 0.55 * radius, 0.55 * radius, 8) for axle in self.shape.wheels]
        black, steel = np.full(3, 26.0), np.full(3, 120.0)
        return [(_at_side(tyre, across), black, CAR) for tyre in tyres] + [
            (_at_side(hub, across), steel, CAR) for hub in hubs
        ]

    def _lamps_and_plate(self, ahead: float, half: float) -> list[Part]:
        from_behind = ahead < 0
        end = self.shape.profile[0 if from_behind else -1, 0] * 1.01
        if abs(ahead) < abs(end):
            return []
        lamp = np.array([190.0, 24, 20]) if from_behind else np.array([240.0, 240, 230])
        plate = np.array([226.0, 190, 60]) if from_behind else np.array([230.0, 230, 226])
        patches = (
            (box(-half, half, 0.3, 0.4), np.full(3, 34.0)),
            (box(-0.95 * half, -0.68 * half, 0.62, 0.82), lamp),
            (box(0.68 * half, 0.95 * half, 0.62, 0.82), lamp),
            (box(-0.27, 0.27, 0.45, 0.57), plate),
        )
        across_and_up = np.array([(0.0, 1, 0), (0, 0, 1)])
        return [(patch @ across_and_up + (end, 0, 0), color, CAR) for patch, color in patches]


def _strip(start: Points, end: Points, half: float) -> Points:
    """The face of a body between two points of its profile."""
    (a, low), (b, high) = start, end
    return np.array([(a, -half, low), (a, half, low), (b, half, high), (b, -half, high)])


def _at_side(flat: Points, across: float) -> Points:
    return np.asarray(flat @ np.array([(1.0, 0, 0), (0, 0, 1)]) + (0.0, across, 0.0))
