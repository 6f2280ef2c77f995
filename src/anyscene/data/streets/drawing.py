"""One labelled street scene from a seed."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.data.streets.buildings import Building
from anyscene.data.streets.camera import FRAME_HEIGHT, FRAME_WIDTH, Camera
from anyscene.data.streets.canvas import SKY, UNLABELED, Canvas, fill, fixed_point
from anyscene.data.streets.ground import paint_ground
from anyscene.data.streets.layout import Street, plan_street
from anyscene.data.streets.photograph import draw_light, expose, paint_sky
from anyscene.data.streets.plants import StreetTree

# The independent streams of randomness of a scene. Whatever is drawn for one part moves no other part.
_VIEW, _PLAN, _SKY, _GROUND, _BONNET, _SENSOR, _THINGS = range(7)


def draw_street(
    seed: int,
    size: tuple[int, int] = (FRAME_WIDTH, FRAME_HEIGHT),
    forward: float = 0.0,
    frame: int = 0,
) -> tuple[NDArray[np.uint8], NDArray[np.int16]]:
    """Draw a street scene: its image uint8[H, W, 3] and its truth int16[H, W] in the classes of CamVid.

    The same seed (0 or more) gives the same street at every size (width, height); frames that are not 4:3 are
    stretched. forward : how far the camera went into the street, in metres. frame : its number on a drive;
    the noise of the sensor is new in each.
    """
    width, height = size

    def stream(part: int) -> np.random.Generator:
        return np.random.default_rng([seed, part])

    view = stream(_VIEW)
    camera = Camera.looking(
        size,
        focal=view.uniform(340, 500),
        horizon=view.uniform(155, 225),
        height=view.uniform(1.25, 1.7),
        yaw=view.normal(0, 0.1),
        forward=forward,
    )
    light, overhead, cloudiness = draw_light(view)
    canvas = Canvas(
        image=np.empty((height, width, 3), np.uint8),
        truth=np.full((height, width), SKY, np.uint8),
        camera=camera,
        light=light,
    )
    plan = plan_street(stream(_PLAN))
    paint_sky(canvas, stream(_SKY), overhead, cloudiness)
    paint_ground(canvas, stream(_GROUND), plan.course, plan.grassy, plan.side_roads)
    _paint_shadows(canvas, plan)
    seeds = stream(_THINGS).integers(2**63, size=len(plan.things)).tolist()
    by_distance = sorted(enumerate(plan.things), key=lambda numbered: -numbered[1].distance)
    for number, thing in by_distance:
        thing.paint(canvas, np.random.default_rng(seeds[number]))
    _paint_bonnet(canvas, stream(_BONNET))
    image = expose(canvas, stream(_SENSOR), np.random.default_rng([seed, _SENSOR, frame]) if frame else None)
    return image, canvas.truth.view(np.int8).astype(np.int16)  # as int8, UNLABELED is VOID


def _paint_shadows(canvas: Canvas, plan: Street) -> None:
    """Throw the shadows of buildings and crowns over the ground, away from the sun."""
    light = canvas.light
    if light.sun == 0:
        return
    shadows = []
    for thing in plan.things:
        if isinstance(thing, Building) and not thing.across and thing.side == light.sun:
            (x0, z0), (x1, z1) = thing.near, thing.far
            reach = -light.sun * light.reach * thing.height
            slant = 0.3 * abs(reach)
            shadows.append(
                np.array([(x0, 0, z0), (x1, 0, z1), (x1 + reach, 0, z1 + slant), (x0 + reach, 0, z0 + slant)])
            )
        elif isinstance(thing, StreetTree):
            angle = np.linspace(0, 2 * np.pi, 16, endpoint=False)
            x = thing.x - light.sun * light.reach * 0.6 * thing.height + thing.spread * np.cos(angle)
            z = thing.z + 0.18 * light.reach * thing.height + thing.spread * np.sin(angle)
            shadows.append(np.column_stack([x, np.zeros(16), z]))
    canvas.darken(shadows, share=0.48, softness=1.2)


def _paint_bonnet(canvas: Canvas, rng: np.random.Generator) -> None:
    """Sometimes the camera's own car reaches into the picture; no class covers it."""
    shown = rng.random() < 0.3
    rise, color, sheen = rng.uniform(0.03, 0.1), rng.uniform(20, 90), rng.uniform(0.4, 1.6)
    if not shown:
        return
    height, width = canvas.truth.shape
    across = np.linspace(-0.02, 1.02, 24)
    edge = 1 - rise * (1 - (2 * across - 1) ** 4)
    outline = np.column_stack([across * width, edge * height])
    outline = np.vstack([outline, [(1.02 * width, 1.1 * height), (-0.02 * width, 1.1 * height)]])
    fill(canvas.image, fixed_point(outline), (color, color, 1.05 * color))
    fill(canvas.truth, fixed_point(outline), (UNLABELED,))
    ridge = np.rint(outline[:24]).astype(np.int32)
    glint = min(255.0, 120 * sheen)
    cv2.polylines(canvas.image, [ridge], False, (glint, glint, glint), max(1, round(width / 240)))
