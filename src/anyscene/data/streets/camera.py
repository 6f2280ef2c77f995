"""The camera that looks down the street: from metres to pixels.

World axes: x to the right across the street, y up, z forward along the street; the camera stands over
(0, 0, 0). The frame is laid out as 480x360 and stretched to the size asked for, so that every size shows
the same street.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
"""float64[n, 2] or float64[n, 3]: corners of an outline, in order."""

FRAME_WIDTH, FRAME_HEIGHT = 480, 360
NEAR = 0.4  # metres; whatever comes closer is cut away before it is projected


@dataclass(frozen=True)
class Camera:
    """A pinhole camera without roll; verticals stay vertical.

    matrix: float64[3, 4], from homogeneous world points to homogeneous pixels; its third row gives depth.
    right: float64[3], the world direction that runs to the right in the image.
    height: of the lens over the ground, in metres.
    horizon: the pixel row of the horizon, which may lie outside the image.
    """

    matrix: Points
    right: Points
    height: float
    horizon: float

    @classmethod
    def looking(
        cls,
        size: tuple[int, int],
        focal: float,
        horizon: float,
        height: float,
        yaw: float,
        forward: float = 0.0,
    ) -> Camera:
        """Set up a camera; focal length and horizon are in pixels of the 480x360 frame, yaw in radians.

        forward : how far it went along the street, in metres.
        """
        sine, cosine = np.sin(yaw), np.cos(yaw)
        to_camera = np.array(
            [
                [cosine, 0, -sine, sine * forward],
                [0, -1, 0, height],
                [sine, 0, cosine, -cosine * forward],
            ]
        )
        lens = np.array([[focal, 0, FRAME_WIDTH / 2], [0, focal, horizon], [0, 0, 1]])
        stretch_x, stretch_y = size[0] / FRAME_WIDTH, size[1] / FRAME_HEIGHT
        to_pixels = np.array([[stretch_x, 0, -0.5], [0, stretch_y, -0.5], [0, 0, 1]])
        return cls(
            matrix=to_pixels @ lens @ to_camera,
            right=np.array([cosine, 0.0, -sine]),
            height=height,
            horizon=horizon * stretch_y - 0.5,
        )

    def depth(self, x: float, z: float) -> float:
        """Distance along the line of sight of a place on the ground."""
        return float(self.matrix[2, 0] * x + self.matrix[2, 2] * z + self.matrix[2, 3])

    def project(self, points: Points) -> Points | None:
        """Give the pixel of every point, or None when one of them is nearer than the near plane."""
        projected = self._homogeneous(points)
        return None if projected[:, 2].min() < NEAR else projected[:, :2] / projected[:, 2:]

    def outline(self, corners: Points) -> Points:
        """Project a polygon, cut at the near plane; no points remain of one that is wholly behind it."""
        projected = self._homogeneous(corners)
        if projected[:, 2].min() < NEAR:
            projected = _cut_near(projected)
        return projected[:, :2] / projected[:, 2:]

    def _homogeneous(self, points: Points) -> Points:
        return np.asarray(points @ self.matrix[:, :3].T + self.matrix[:, 3])


def _cut_near(corners: Points) -> Points:
    following = np.roll(corners, -1, axis=0)
    kept = []
    for corner, after in zip(corners, following, strict=True):
        if corner[2] >= NEAR:
            kept.append(corner)
        if (corner[2] >= NEAR) != (after[2] >= NEAR):
            share = (NEAR - corner[2]) / (after[2] - corner[2])
            kept.append(corner + share * (after - corner))
    return np.array(kept).reshape(-1, 3)
