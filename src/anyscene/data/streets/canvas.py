"""Painting into an image and its truth at once, far things first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.data.classes import VOID
from anyscene.data.streets.camera import FRAME_WIDTH, Camera, Points

Color = NDArray[np.float64]
"""float64[3]: RGB from 0 to 255, before light and haze."""

SKY, BUILDING, POLE, ROAD, PAVEMENT, TREE, SIGN, FENCE, CAR, PEDESTRIAN, BICYCLIST = range(11)
UNLABELED = VOID & 0xFF  # void, while the truth is still uint8 as OpenCV's drawing wants it

_FRACTION_BITS = 4

Place = Callable[[Points], Points]
Part = tuple[Points, Color | None, int | None]
"""A polygon with its colour and its label; without one of them that half of the canvas stays as it is."""


@dataclass(frozen=True)
class Light:
    """What the sun and the air do to colours.

    sun: where the sun stands: -1 left, 1 right, 0 hidden behind clouds.
    reach: metres of ground that one metre of height throws into shadow.
    haze: RGB of the far distance; thickness: share of it that 100 metres of air add.
    exposure: brightness of the photograph; warmth: above 1 reddish, below 1 bluish.
    """

    sun: int
    reach: float
    haze: Color
    thickness: float
    exposure: float
    warmth: float

    def on_wall(self, facing: int) -> float:
        """Brightness of a wall that faces left (-1), right (1) or the camera (0)."""
        return 0.9 + 0.25 * self.sun * facing - 0.1 * (self.sun != 0 and facing == 0)


@dataclass(frozen=True)
class Canvas:
    """An image in the making.

    image: uint8[H, W, 3]; truth: uint8[H, W], class ids or UNLABELED. Both are painted in place.
    """

    image: NDArray[np.uint8]
    truth: NDArray[np.uint8]
    camera: Camera
    light: Light

    def seen_from(self, depth: float, color: Color) -> tuple[float, ...]:
        """Give a colour as it looks through this many metres of air (OpenCV clips it to 0..255)."""
        clear, air = self._air(depth)
        return tuple((clear * color + air).tolist())

    def _air(self, depth: float) -> tuple[float, Color]:
        """Return the share of a thing's own colour that comes through, and what the air adds to it."""
        clear = float((1 - self.light.thickness) ** (max(depth, 0) / 100))
        return clear, (1 - clear) * self.light.haze

    def in_view(self, corners: Points) -> bool:
        """Tell whether some part of a polygon lies between the left and the right edge of the image."""
        columns = self.camera.outline(corners)[:, 0]
        return bool(len(columns) and columns.max() >= 0 and columns.min() < self.truth.shape[1])

    def polygon(self, corners: Points, color: Color | None, label: int | None) -> None:
        """Fill one flat polygon of world points."""
        self.polygons([(corners, color, label)])

    def polygons(self, parts: Sequence[Part], place: Place | None = None) -> None:
        """Fill polygons, one over the other; all get the haze of the very first corner.

        place: moves all corners at once into the world.
        """
        if not parts:
            return
        # A scene has several hundred small polygons: one pass of numpy over all corners saves half the time.
        together = np.concatenate([corners for corners, _, _ in parts])
        if place is not None:
            together = place(together)
        clear, air = self._air(self.camera.depth(together[0, 0], together[0, 2]))
        air_parts = air.tolist()
        ends = np.cumsum([len(corners) for corners, _, _ in parts]).tolist()
        spans = [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]
        projected = self.camera.project(together)
        if projected is None:  # something comes too close: cut each on its own
            outlines = [fixed_point(self.camera.outline(together[span])) for span in spans]
        else:
            whole = fixed_point(projected)
            outlines = [whole[span] for span in spans]
        for outline, (_, color, label) in zip(outlines, parts, strict=True):
            if len(outline) < 3:
                continue
            if color is not None:
                seen = [clear * own + added for own, added in zip(color.tolist(), air_parts, strict=True)]
                fill(self.image, outline, seen)
            if label is not None:
                fill(self.truth, outline, (label,))

    def standing(self, x: float, z: float, parts: Sequence[Part]) -> None:
        """Fill flat shapes (metres to the right, metres up) that stand at a place, turned to the camera."""
        self.polygons(parts, lambda flat: self.facing(x, z, flat))

    def facing(self, x: float, z: float, flat: Points) -> Points:
        """Give the world points of flat shapes that stand at a place."""
        return np.asarray(flat @ np.array([self.camera.right, (0.0, 1.0, 0.0)]) + (x, 0.0, z))

    def textured(self, quad: Points, texture: NDArray[np.uint8], label: int) -> None:
        """Spread a texture over a parallelogram: top left, top right, bottom right, bottom left.

        A texture of four channels is painted and labelled only where the fourth is at least 128.
        """
        outline = self.camera.outline(quad)
        if len(outline) < 3:
            return
        height, width = self.truth.shape
        (left, top), (right, bottom) = outline.min(axis=0).tolist(), outline.max(axis=0).tolist()
        texture = _shrunk(texture, right - left, bottom - top)
        left, right = max(int(left), 0), min(int(right) + 2, width)
        top, bottom = max(int(top), 0), min(int(bottom) + 2, height)
        if right <= left or bottom <= top:
            return
        rows, columns = texture.shape[:2]
        across, down = (quad[1] - quad[0]) / columns, (quad[3] - quad[0]) / rows
        plane = np.zeros((4, 3))  # from texels to the world
        plane[:3] = np.column_stack([across, down, quad[0] + 0.5 * (across + down)])
        plane[3, 2] = 1
        into_window = np.array([[1.0, 0, -left], [0, 1, -top], [0, 0, 1]])
        warped = cv2.warpPerspective(
            texture,
            into_window @ self.camera.matrix @ plane,
            (right - left, bottom - top),
            borderMode=cv2.BORDER_REPLICATE,
        )
        mask = np.zeros(warped.shape[:2], np.uint8)
        fill(mask, fixed_point(outline - (left, top)), (1,))
        if texture.shape[2] == 4:
            mask &= warped[..., 3] >> 7
            warped = warped[..., :3]
        clear, air = self._air(self.camera.depth(*quad.mean(axis=0)[[0, 2]]))
        warped = cv2.add(cv2.convertScaleAbs(warped, alpha=clear), (*air.tolist(), 0.0))
        cv2.copyTo(warped, mask, self.image[top:bottom, left:right])
        np.copyto(self.truth[top:bottom, left:right], label, where=mask.view(np.bool_))

    def darken(self, shadows: Sequence[Points], share: float, softness: float) -> None:
        """Throw one shadow over the union of ground polygons; shadows do not add up."""
        mask = np.zeros(self.truth.shape, np.uint8)
        for corners in shadows:
            outline = self.camera.outline(corners)
            if len(outline) >= 3:
                fill(mask, fixed_point(outline), (255,))
        mask = cv2.GaussianBlur(mask, (0, 0), max(softness * self.truth.shape[1] / FRAME_WIDTH, 0.3))
        kept = 255 - cv2.convertScaleAbs(mask, alpha=share)
        cv2.multiply(self.image, cv2.merge([kept] * 3), dst=self.image, scale=1 / 255)


def fixed_point(outline: Points) -> NDArray[np.int32]:
    """Round an outline in pixels to the sixteenths that `fill` takes."""
    return np.rint(outline * (1 << _FRACTION_BITS)).astype(np.int32)


def fill(target: NDArray[np.uint8], outline: NDArray[np.int32], value: Sequence[float]) -> None:
    """Fill an outline given in sixteenths of a pixel."""
    cv2.fillPoly(target, [outline], value, shift=_FRACTION_BITS)


def _shrunk(texture: NDArray[np.uint8], width: float, height: float) -> NDArray[np.uint8]:
    """Average texels that would share a pixel, so that far walls do not glitter."""
    rows, columns = texture.shape[:2]
    wanted = (min(columns, max(2, round(1.5 * width))), min(rows, max(2, round(1.5 * height))))
    if wanted == (columns, rows):
        return texture
    return np.asarray(cv2.resize(texture, wanted, interpolation=cv2.INTER_AREA))
