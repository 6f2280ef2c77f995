"""Labels drawn for people: over the photo, with outlines and a legend of what is seen."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from anyscene.labeling import Labeling

LINE_PER_PIXEL = 1 / 600
"""Outlines are so wide, in parts of the picture's long side."""

PAPER, INK = (255, 255, 255), (20, 20, 20)


def draw_overlay(labeling: Labeling, image: NDArray[np.uint8], opacity: float = 0.5) -> NDArray[np.uint8]:
    """The labels over their photo, uint8[H + legend, W, 3]; outlines are in the classes' full colours."""
    picture = outlined(labeling, labeling.overlay(image, opacity))
    return np.vstack([picture, draw_legend(labeling, picture.shape[1])])


def outlined(labeling: Labeling, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A picture with the outlines of the labels, each side in the colour of its class."""
    width = max(1, round(LINE_PER_PIXEL * max(picture.shape[:2])))
    ids = labeling.labels.astype(np.float32)
    kernel = np.ones((2 * width + 1, 2 * width + 1), np.uint8)
    edge = cv2.dilate(ids, kernel) != cv2.erode(ids, kernel)
    return np.where(edge[:, :, None], labeling.color(), picture)


def draw_legend(labeling: Labeling, width: int) -> NDArray[np.uint8]:
    """A strip uint8[h, width, 3]: the classes that are seen, most of them first, and their shares."""
    seen = sorted(((share, name) for name, share in labeling.shares().items() if share), reverse=True)
    size = max(12, min(width // 40, 64))
    font = ImageFont.load_default(size)
    colors = dict(zip(labeling.classes.names, labeling.classes.palette.tolist(), strict=True))
    places: list[tuple[int, int, str, str]] = []
    left, top, step = size // 2, size // 2, round(1.6 * size)
    for share, name in seen:
        words = f"{name} {share:.0%}" if share >= 0.01 else f"{name} <1%"
        wide = 2 * size + round(font.getlength(words))
        if left > size and left + wide > width:
            left, top = size // 2, top + step
        places.append((left, top, name, words))
        left += wide + size
    strip = Image.new("RGB", (width, top + step), PAPER)
    draw = ImageDraw.Draw(strip)
    for left, top, name, words in places:
        draw.rectangle((left, top, left + size, top + size), tuple(colors[name]), INK)
        draw.text((left + round(1.5 * size), top), words, INK, font)
    return np.asarray(strip)
