"""Images as people have them, as the one kind that is labelled: uint8[H, W, 3], RGB."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from anyscene.data.images import read_image, to_rgb
from anyscene.errors import ConfigError, DataError

CHANNELS = ("rgb", "bgr")

Given = NDArray[Any] | Image.Image | str | os.PathLike[str]
"""What can only mean one image: an array of bytes, grey or in colour, a PIL image, or a path."""


def as_rgb(given: Given, channels: str = "rgb") -> NDArray[np.uint8]:
    """Return an image as uint8[H, W, 3], RGB; one that is so already is returned as it is.

    Opacity is laid over white, like in files. channels : the order of an array's colours, "rgb", or "bgr" for
    frames of OpenCV.
    """
    if channels not in CHANNELS:
        raise ConfigError(f"channels are 'rgb' or, for frames of OpenCV, 'bgr'; found {channels!r}")
    if isinstance(given, str | os.PathLike):
        return read_image(given)
    if isinstance(given, Image.Image):
        return to_rgb(given)
    if not isinstance(given, np.ndarray):
        raise DataError(
            f"an image is an array uint8[H, W, 3], a PIL image or a path, found {_a(type(given).__name__)}"
        )
    if given.dtype != np.uint8:
        raise DataError(
            f"an image must be of bytes, uint8, found {given.dtype}{_values(given)}; {_advice(given)}"
        )
    if given.ndim not in (2, 3) or (given.ndim == 3 and given.shape[2] not in (1, 3, 4)) or not given.size:
        raise DataError(
            f"an image must be uint8[H, W, 3] (or grey, or with opacity) and not empty, "
            f"found uint8{list(given.shape)}; {_advice(given)}"
        )
    if given.ndim == 2 or given.shape[2] == 1:
        return np.repeat(given.reshape(*given.shape[:2], 1), 3, axis=2)
    if channels == "bgr":
        given = given[:, :, [2, 1, 0, 3][: given.shape[2]]]
    if given.shape[2] == 4:
        opacity = given[:, :, 3:].astype(np.uint16)
        over_white = given[:, :, :3] * opacity + 255 * (255 - opacity)
        return ((over_white + 127) // 255).astype(np.uint8)
    return given


def _advice(given: NDArray[Any]) -> str:
    if np.issubdtype(given.dtype, np.floating):
        return "for values from 0 to 1 give (255 * image).astype(numpy.uint8)"
    if given.ndim == 3 and given.shape[0] in (1, 3, 4):
        return "channels come last: give image.transpose(1, 2, 0)"
    if given.ndim == 4:
        return "give one image of the batch at a time"
    return "anyscene.data.read_image reads any picture so; for frames of OpenCV say channels='bgr'"


def _values(given: NDArray[Any]) -> str:
    return f" from {given.min():.3g} to {given.max():.3g}" if given.size and given.dtype.kind in "fiu" else ""


def _a(name: str) -> str:
    special = {
        "NoneType": "None; cv2.imread gives that for a file it cannot read",
        "bytes": "bytes; for those of a file give PIL.Image.open(io.BytesIO(them))",
        "int": "a number; cv2.VideoCapture opens a camera and gives its frames",
    }
    return special.get(name, f"a {name}")
