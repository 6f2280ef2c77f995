"""Masks as polygons."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

Ring = NDArray[np.float64]
"""A closed line float64[points, 2], (x, y) in pixels; the last point is joined to the first."""


def rings(mask: NDArray[np.bool_], tolerance: float = 1.0) -> list[list[Ring]]:
    """The connected parts of a mask bool[H, W], each as its outline and the outlines of its holes.

    tolerance : how far, in pixels, a line may lie from the mask's edge; 0 keeps every corner. Parts that
    become too small for a polygon are left out.
    """
    # Each pixel is drawn as 2x2, so that outlines follow the edges of pixels and not their centres.
    doubled = mask.astype(np.uint8).repeat(2, 0).repeat(2, 1)
    found, hierarchy = cv2.findContours(
        cv2.copyMakeBorder(doubled, 1, 1, 1, 1, cv2.BORDER_CONSTANT), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE
    )
    if hierarchy is None:
        return []
    parents = hierarchy.reshape(-1, 4)[:, 3]
    lines = [_in_pixels(contour, tolerance) for contour in found]
    parts = {index: [line] for index, line in enumerate(lines) if parents[index] < 0 and len(line) >= 3}
    for index, line in enumerate(lines):
        if parents[index] in parts and len(line) >= 3:
            parts[int(parents[index])].append(line)
    return list(parts.values())


def _in_pixels(contour: NDArray[np.int32], tolerance: float) -> Ring:
    line = cv2.approxPolyDP(contour, 2 * tolerance, True) if tolerance else contour
    # Pixel k of the mask is 2k+1 and 2k+2 within the border: halved, its sides lie at k and k+1.
    return np.asarray(line.reshape(-1, 2) // 2, np.float64)
