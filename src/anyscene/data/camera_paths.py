"""Clips made of still images: a camera moves over a still, and its truth moves along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.data.classes import VOID
from anyscene.data.clips import Clip, DrawnFrames
from anyscene.data.scenes import Scene

MOTIONS = ("still", "pan", "zoom", "shake", "cut")
SPEEDS = {"slow": 0.003, "medium": 0.01, "fast": 0.03}
"""How far the camera moves from frame to frame, in widths of what it shows."""

SHOWN = 0.8
"""The share of a still's sides that the camera shows, pixel by pixel; the rest is room to move in."""

NOISE = 3.0
"""Standard deviation of the sensor's noise, of 255; it is new in each frame."""

Value = TypeVar("Value", np.uint8, np.int16)

Window = tuple[float, float, float]
"""Centre (x, y) and sides of what the camera shows, in shares of the still."""


def camera_clips(
    scenes: Sequence[Scene],
    random: np.random.Generator,
    motions: Sequence[str] = MOTIONS,
    speeds: Sequence[str] = tuple(SPEEDS),
    length: int = 30,
) -> list[Clip]:
    """Make one clip of each scene; motions and speeds take turns, so that a few scenes show all of them.

    A cut goes from one scene to the next after half of its frames; the camera pans slowly before and after
    it.
    """
    ways = [
        (motion, speed) for motion in motions for speed in (("",) if motion in ("still", "cut") else speeds)
    ]
    clips = []
    for index in range(len(scenes)):
        motion, speed = ways[index % len(ways)]
        scene = scenes[index]
        seed = int(random.integers(2**31))
        if motion == "cut":
            half = length // 2
            other = scenes[(index + 1) % len(scenes)]
            frames = [
                *PathFrames(scene, camera_path("pan", SPEEDS["slow"], half, random), seed),
                *PathFrames(other, camera_path("pan", SPEEDS["slow"], length - half, random), seed + 1),
            ]
            clips.append(Clip(f"{scene.id}, then {other.id}", motion, speed, frames))
        else:
            path = camera_path(motion, SPEEDS.get(speed, 0.0), length, random)
            clips.append(Clip(scene.id, motion, speed, PathFrames(scene, path, seed)))
    return clips


def camera_path(motion: str, speed: float, length: int, random: np.random.Generator) -> list[Window]:
    """What the camera shows in each frame. speed : how far it moves, in widths of the window."""
    room = (1 - SHOWN) / 2
    step = speed * SHOWN
    start = random.uniform(-room, room, 2)
    if motion == "zoom":
        # From close to wide and back: edges move by `step` a frame where half the side changes by it.
        sides = SHOWN + room + _to_and_fro(np.arange(length) * 2 * step + random.uniform(-room, room), room)
        return [(0.5, 0.5, float(side)) for side in sides]
    if motion == "shake":
        jitter = np.cumsum(random.normal(0, step, (length, 2)), axis=0)
        jitter -= jitter.mean(axis=0)
        places = np.clip(start + jitter, -room, room)
    else:
        angle = random.uniform(0, 2 * np.pi)
        direction = np.array([np.cos(angle), 0.5 * np.sin(angle)])
        direction /= np.linalg.norm(direction)
        places = _to_and_fro(start + np.arange(length)[:, None] * step * direction, room)
    return [(0.5 + float(x), 0.5 + float(y), SHOWN) for x, y in places]


def _to_and_fro(position: NDArray[Any], room: float) -> NDArray[np.float64]:
    """Turn back at -room and at +room instead of leaving them."""
    return np.asarray(np.abs((position - room) % (4 * room) - 2 * room) - room, np.float64)


@dataclass(frozen=True, eq=False)
class PathFrames(DrawnFrames):
    """The frames that a camera on a path over a still sees, each drawn when it is asked for.

    noise_seed : frames of equal index and seed have equal noise.
    """

    still: Scene
    path: Sequence[Window]
    noise_seed: int

    def __len__(self) -> int:
        return len(self.path)

    def draw(self, turn: int) -> Scene:
        """Draw what the camera sees there."""
        window = self.path[turn]
        image = _warp(self.still.image, window, cv2.INTER_LINEAR, 0)
        noise = np.random.default_rng([self.noise_seed, turn]).normal(0, NOISE, image.shape)
        noisy = np.clip(np.rint(image + noise), 0, 255).astype(np.uint8)
        truth = self.still.truth
        seen = None if truth is None else _warp(truth, window, cv2.INTER_NEAREST, VOID)
        return Scene(f"{self.still.id}+{turn}", noisy, seen)


def _warp(values: NDArray[Value], window: Window, method: int, beyond: int) -> NDArray[Value]:
    """Bring a window to the size that the camera shows."""
    height, width = values.shape[:2]
    x, y, side = window
    left, top, scale = (x - side / 2) * width, (y - side / 2) * height, side / SHOWN
    # Pixel centres lie at halves.
    matrix = np.array([[scale, 0, left + scale / 2 - 0.5], [0, scale, top + scale / 2 - 0.5]])
    size = max(1, round(SHOWN * width)), max(1, round(SHOWN * height))
    border = cv2.BORDER_REPLICATE if values.ndim == 3 else cv2.BORDER_CONSTANT
    flags = method | cv2.WARP_INVERSE_MAP
    return np.asarray(
        cv2.warpAffine(values, matrix, size, flags=flags, borderMode=border, borderValue=beyond)
    )
