"""Smaller versions of an image: the working frame, and the pyramid that a tree is grown from."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.hierarchy.pixel_kernels import quarter
from anyscene.hierarchy.shrink_kernels import shrink_by_area

WORKING_LONG_SIDE = 480


def working_frame(image: NDArray[np.uint8], long_side: int = WORKING_LONG_SIDE) -> NDArray[np.uint8]:
    """Scale an image down to a long side; smaller images are returned as they are."""
    size = image.shape[0], image.shape[1]
    frame = frame_size(size, long_side)
    return image if frame == size else shrink(image, frame)


def frame_size(size: tuple[int, int], long_side: int = WORKING_LONG_SIDE) -> tuple[int, int]:
    """Height and width of the working frame of an image of a size."""
    height, width = size
    if max(height, width) <= long_side:
        return size
    ratio = long_side / max(height, width)
    return max(1, round(height * ratio)), max(1, round(width * ratio))


def shrink(image: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """Average areas of an image to make it of a size (height, width) that is no larger on either side."""
    if image.shape[:2] == (2 * size[0], 2 * size[1]):  # here OpenCV is six times as fast as our kernel
        return np.asarray(cv2.resize(image, size[::-1], interpolation=cv2.INTER_AREA), dtype=np.uint8)
    result = np.empty((*size, 3), np.uint8)
    shrink_by_area(np.ascontiguousarray(image), result)
    return result


def fit(image: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """Stretch an image to (height, width): areas are averaged when it shrinks, as in training."""
    image = np.ascontiguousarray(image)
    if image.shape[:2] == size:
        return image
    if image.shape[0] > size[0] and image.shape[1] >= size[1]:
        return shrink(image, size)
    method = cv2.INTER_AREA if image.shape[0] > size[0] else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, (size[1], size[0]), interpolation=method))


def halve(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Mean of each 2x2 block, uint8[ceil(h / 2), ceil(w / 2), 3]; an odd last row or column stands twice."""
    height, width = image.shape[:2]
    if height % 2 or width % 2:
        image = cv2.copyMakeBorder(image, 0, height % 2, 0, width % 2, cv2.BORDER_REPLICATE)
    size = (width + 1) // 2, (height + 1) // 2
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def next_level(shrunk: Callable[[int], NDArray[np.uint8]], stride: int) -> NDArray[np.uint8]:
    """The level of a pyramid that has `stride` (2, 4, 8 ...), made of one that `shrunk` gives.

    A quarter comes from the image itself: layers that need it can do without half the size.
    """
    return quarter_of(shrunk(1)) if stride == 4 else halve(shrunk(stride // 2))


def quarter_of(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Mean of each 4x4 block, uint8[ceil(h / 4), ceil(w / 4), 3]."""
    # Writeable, though nothing is written: kernels are compiled for such arrays.
    small: NDArray[np.uint8] = quarter(np.require(image, requirements=["C", "W"]))
    return small
