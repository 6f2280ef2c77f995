"""The plan of a street: what stands where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anyscene.data.streets.buildings import Building
from anyscene.data.streets.cars import SHAPES, Car
from anyscene.data.streets.furniture import Bin, Bollard, Fence, Lamp, Sign, TrafficLight
from anyscene.data.streets.ground import Course
from anyscene.data.streets.people import Bicyclist, Pedestrian
from anyscene.data.streets.plants import Hedge, StreetTree
from anyscene.data.streets.things import Thing


@dataclass(frozen=True)
class Street:
    """A street before it is painted.

    grassy: whether grass lies behind the left and the right pavement.
    side_roads: (side, from z, to z) of each street that joins.
    """

    course: Course
    grassy: tuple[bool, bool]
    side_roads: list[tuple[int, float, float]]
    things: list[Thing]


def plan_street(rng: np.random.Generator) -> Street:
    """Lay out a street; camera in the left lane, as in CamVid."""
    left, right = -rng.uniform(1.8, 4.2), rng.uniform(4.0, 8.0)
    course = Course(
        left=left,
        right=right,
        left_back=left - rng.uniform(1.8, 5.0),
        right_back=right + rng.uniform(1.8, 5.0),
        bend=float(rng.normal(0, 0.0012)),
    )
    end = float(rng.uniform(55, 110))
    bare = bool(rng.random() < 0.3)
    height = float(rng.uniform(7, 20))
    kinds = rng.choice(["terrace", "houses", "park"], 2, p=[0.62, 0.22, 0.16])
    things: list[Thing] = []
    side_roads: list[tuple[int, float, float]] = []
    for side, kind in zip((-1, 1), kinds, strict=True):
        if kind == "terrace":
            found, joining = _terrace(rng, course, side, end, height)
            side_roads += joining
            things += found
        elif kind == "houses":
            things += _houses(rng, course, side, end, bare)
        else:
            things += _park(rng, course, side, end, bare)
        things += _roadside(rng, course, side, end, bare)
    # Terraces hide what lies behind them.
    ends = (-12.0 if kinds[0] == "terrace" else -60.0, 12.0 if kinds[1] == "terrace" else 60.0)
    things += _end_of_street(rng, course, end, ends, bare)
    things += _traffic(rng, course, end)
    return Street(course, (kinds[0] != "terrace", kinds[1] != "terrace"), side_roads, things)


def _kerb(course: Course, side: int) -> float:
    return course.left if side < 0 else course.right


def _back(course: Course, side: int) -> float:
    return course.left_back if side < 0 else course.right_back


def _terrace(
    rng: np.random.Generator, course: Course, side: int, end: float, height: float
) -> tuple[list[Thing], list[tuple[int, float, float]]]:
    """Houses wall to wall at the back of the pavement, with a side road here and there."""
    line = _back(course, side)
    things: list[Thing] = []
    side_roads = []
    z = float(rng.uniform(-6, 1))
    nearer = 0.0  # height of the building that hides this one's gable
    while z < end:
        if z > 8 and rng.random() < 0.1:
            width = float(rng.uniform(6, 10))
            side_roads.append((side, z + 0.8, z + width - 0.8))
            z += width
            nearer = 0.0
        length = float(rng.uniform(5, 15))
        tall = max(4.5, height * float(rng.uniform(0.7, 1.3)))
        near, far = (course.at(line, z), z), (course.at(line, z + length), z + length)
        things.append(Building(near, far, side, tall, shop=bool(rng.random() < 0.45), gable=tall > nearer))
        z, nearer = z + length, tall
    return things, side_roads


def _houses(rng: np.random.Generator, course: Course, side: int, end: float, bare: bool) -> list[Thing]:
    """Detached houses behind gardens, which end in a hedge, a fence or a low wall."""
    line = _back(course, side)
    front = line + side * float(rng.uniform(3, 8))
    things: list[Thing] = []
    z = float(rng.uniform(-4, 4))
    while z < end:
        length = float(rng.uniform(7, 12))
        near, far = (course.at(front, z), z), (course.at(front, z + length), z + length)
        things.append(Building(near, far, side, float(rng.uniform(5, 8.5))))
        edge, edge_far = (course.at(line, z), z), (course.at(line, z + length), z + length)
        border = rng.random()
        if border < 0.3:
            things.append(Hedge(edge, edge_far, float(rng.uniform(0.8, 2))))
        elif border < 0.6:
            things.append(Fence(edge, edge_far, float(rng.uniform(0.9, 1.8)), solid=bool(rng.random() < 0.7)))
        elif border < 0.8:
            things.append(Building(edge, edge_far, side, float(rng.uniform(0.6, 1.2))))
        if rng.random() < 0.55:
            x = line + side * float(rng.uniform(0.8, 4))
            things.append(_tree(rng, course, x, z + length, bare))
        z += length + float(rng.uniform(1.5, 6))
    return things


def _park(rng: np.random.Generator, course: Course, side: int, end: float, bare: bool) -> list[Thing]:
    """Trees on grass behind a fence."""
    line = _back(course, side)
    things: list[Thing] = []
    for z in _thinning(rng.uniform(2, 8), end, rng.uniform(3.5, 7)):
        x = line + side * float(rng.uniform(1, 14))
        things.append(_tree(rng, course, x, float(z), bare and bool(rng.random() < 0.8)))
    things.append(
        Hedge((side * 30 + course.at(line, end), end - 60), (course.at(line, end) + side, end), 4.0)
    )
    if rng.random() < 0.6:
        tall, solid = float(rng.uniform(1, 1.9)), bool(rng.random() < 0.35)
        for z in np.arange(1, 60, 12.0):
            things.append(
                Fence((course.at(line, z), float(z)), (course.at(line, z + 12), float(z) + 12), tall, solid)
            )
    return things


def _thinning(start: float, end: float, spacing: float) -> list[float]:
    """Places along the street that lie farther apart farther away, where they would only hide each other."""
    places = [start]
    while places[-1] < end:
        places.append(places[-1] + max(spacing, 0.2 * places[-1]))
    return places[:-1]


def _tree(rng: np.random.Generator, course: Course, x: float, z: float, bare: bool) -> StreetTree:
    height = float(rng.uniform(4, 11))
    return StreetTree(course.at(x, z), z, height, height * float(rng.uniform(0.25, 0.42)), bare)


def _roadside(rng: np.random.Generator, course: Course, side: int, end: float, bare: bool) -> list[Thing]:
    """What stands on one pavement: lamps, signs, trees, bollards, bins, a railing, people, parked cars."""
    kerb, back = _kerb(course, side), _back(course, side)
    edge = kerb + 0.5 * side
    things: list[Thing] = []
    tall, arm = float(rng.uniform(5, 9)), -side * float(rng.uniform(0.6, 2))
    for z in np.arange(rng.uniform(5, 25), end, rng.uniform(20, 38)):
        things.append(Lamp(course.at(edge, z), float(z), tall, arm))
    for z in 4 + rng.exponential(18, rng.poisson(1.6)):
        things.append(Sign(course.at(edge + 0.2 * side, z), float(z)))
    if rng.random() < 0.3:
        z = float(rng.uniform(7, 30))
        things.append(TrafficLight(course.at(edge, z), z))
    if rng.random() < 0.35:
        for z in _thinning(rng.uniform(5, 14), end, rng.uniform(7, 16)):
            things.append(_tree(rng, course, edge + 0.6 * side, float(z), bare))
    if rng.random() < 0.2:
        for z in np.arange(rng.uniform(4, 10), rng.uniform(14, 30), 1.8):
            things.append(Bollard(course.at(edge, z), float(z)))
    for z in 4 + rng.exponential(12, rng.poisson(0.7)):
        things.append(Bin(course.at(back - 0.8 * side, z), float(z)))
    if rng.random() < 0.3:
        z, length = float(rng.uniform(2.5, 15)), float(rng.uniform(6, 20))
        near, far = (
            (course.at(kerb + 0.3 * side, z), z),
            (course.at(kerb + 0.3 * side, z + length), z + length),
        )
        things.append(Fence(near, far, 1.05, solid=False))
    for z in 5 + rng.exponential(11, rng.poisson(2.2)):
        x = edge + rng.random() * (back - 0.3 * side - edge)
        things.append(Pedestrian(course.at(x, z), float(z)))
    if rng.random() < 0.4:
        z, last = float(rng.uniform(5, 25)), float(rng.uniform(25, 80))
        while z < last:
            heading = 0.0 if side < 0 else np.pi
            things.append(
                Car(course.at(kerb - 1.0 * side, z), z, heading, SHAPES[rng.choice(3, p=[0.5, 0.38, 0.12])])
            )
            z += float(rng.uniform(5.5, 12))
    return things


def _end_of_street(
    rng: np.random.Generator, course: Course, end: float, ends: tuple[float, float], bare: bool
) -> list[Thing]:
    """Houses and trees that close the view, from one side to the other."""
    things: list[Thing] = []
    x = course.at(course.left_back + ends[0], end)
    while x < course.at(course.right_back + ends[1], end):
        width = float(rng.uniform(8, 22))
        if rng.random() < 0.6:
            tall = float(rng.uniform(5, 13))
            things.append(Building((x, end + 12), (x + width, end + 12), 1, tall, across=True))
        else:
            things.append(Hedge((x, end + 12), (x + width, end + 12), float(rng.uniform(1.5, 4))))
            things.append(StreetTree(x + 0.5 * width, end + 11, float(rng.uniform(6, 14)), 0.5 * width, bare))
        x += width
    return things


def _traffic(rng: np.random.Generator, course: Course, end: float) -> list[Thing]:
    """What moves on the road."""
    things: list[Thing] = []
    middle = 0.5 * (course.left + course.right)
    kinds = [0.45, 0.38, 0.12, 0.05]
    z = float(rng.uniform(7, 45))
    for _ in range(rng.poisson(1.3)):
        x = 0.5 * (course.left + middle) + float(rng.uniform(-0.3, 0.3))
        things.append(Car(course.at(x, z), z, float(rng.normal(0, 0.03)), SHAPES[rng.choice(4, p=kinds)]))
        z += float(rng.uniform(11, 30))
    z = float(rng.uniform(6, 35))
    for _ in range(rng.poisson(2.2)):
        x = 0.5 * (course.right + middle) + float(rng.uniform(-0.4, 0.4))
        things.append(
            Car(course.at(x, z), z, np.pi + float(rng.normal(0, 0.03)), SHAPES[rng.choice(4, p=kinds)])
        )
        z += float(rng.uniform(11, 30))
    if rng.random() < 0.12:
        z = float(rng.uniform(12, 35))
        heading = float(rng.choice([-1, 1])) * np.pi / 2
        things.append(Car(float(rng.uniform(-4, 6)), z, heading, SHAPES[rng.choice(3)]))
    for z in 6 + rng.exponential(10, rng.poisson(0.9)):
        x = float(rng.choice([course.left + 0.8, course.right - 0.8, middle]))
        things.append(Bicyclist(course.at(x, z), float(z), crossing=bool(rng.random() < 0.3)))
    for z in 8 + rng.exponential(14, rng.poisson(0.5)):
        things.append(Pedestrian(course.at(float(rng.uniform(course.left, course.right)), z), float(z)))
    return [thing for thing in things if thing.distance < end]
