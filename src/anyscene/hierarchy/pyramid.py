"""Smaller versions of an image: the working frame, and the pyramid that a tree is grown from."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.hierarchy.pixel_kernels import quarter
from anyscene.hierarchy.shrink_kernels import shrink_by_area

WORKING_LONG_SIDE = 480
"""The most pixels of the longer side of a working frame."""


def working_frame(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Scale an image down to WORKING_LONG_SIDE; smaller images are returned as they are."""
    size = image.shape[0], image.shape[1]
    frame = frame_size(size)
    return image if frame == size else shrink(image, frame)


def frame_size(size: tuple[int, int]) -> tuple[int, int]:
    """The height and width of the working frame, for an image of this height and width."""
    height, width = size
    if max(height, width) <= WORKING_LONG_SIDE:
        return size
    ratio = WORKING_LONG_SIDE / max(height, width)
    return max(1, round(height * ratio)), max(1, round(width * ratio))


def shrink(image: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """Shrink an image to (height, width) by averaging areas; neither side may grow."""
    if image.shape[:2] == (2 * size[0], 2 * size[1]):  # OpenCV is much faster at exact halves
        return np.asarray(cv2.resize(image, size[::-1], interpolation=cv2.INTER_AREA), dtype=np.uint8)
    result = np.empty((*size, 3), np.uint8)
    shrink_by_area(np.ascontiguousarray(image), result)
    return result


def fit(image: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """Stretch an image to (height, width). Areas are averaged where it shrinks, as in training."""
    image = np.ascontiguousarray(image)
    if image.shape[:2] == size:
        return image
    if image.shape[0] > size[0] and image.shape[1] >= size[1]:
        return shrink(image, size)
    method = cv2.INTER_AREA if image.shape[0] > size[0] else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, (size[1], size[0]), interpolation=method))


def halve(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The mean of each 2x2 block, uint8[ceil(h / 2), ceil(w / 2), 3]; odd ends count twice."""
    height, width = image.shape[:2]
    if height % 2 or width % 2:
        image = cv2.copyMakeBorder(image, 0, height % 2, 0, width % 2, cv2.BORDER_REPLICATE)
    size = (width + 1) // 2, (height + 1) // 2
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def next_level(shrunk: Callable[[int], NDArray[np.uint8]], stride: int) -> NDArray[np.uint8]:
    """The level of a pyramid with this stride (2, 4, 8 ...), made from one that `shrunk` gives.

    A quarter comes from the image itself, so that layers that need it do not need half the size.
    """
    return quarter_of(shrunk(1)) if stride == 4 else halve(shrunk(stride // 2))


def quarter_of(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The mean of each 4x4 block, uint8[ceil(h / 4), ceil(w / 4), 3]."""
    fixed = np.ascontiguousarray(image).view()
    fixed.flags.writeable = False  # images are read-only, and the kernel is compiled for one kind of array
    small: NDArray[np.uint8] = quarter(fixed)
    return small
