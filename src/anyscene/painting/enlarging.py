"""From labels of the working frame to labels of a larger photo, along the photo's own outlines.

Joint bilateral upsampling (Kopf et al., 2007), with votes for labels in place of values. What it gains, and
why these widths: docs/research/2026-11-18-large-photos.md.
"""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.painting import enlarging_kernels as kernels

COLOR_REACH = 20.0
"""Steps of 255: the standard deviation of the colours that count as alike; see the research note."""

PLACE_REACH = 0.7
"""Pixels of the frame: the standard deviation of the places that count as near; see the research note."""

NEGLIGIBLE = 1e-4
"""The least weight of a colour: where all are unlike, the nearest pixels decide."""


def find_mixed(labels: NDArray[np.int16]) -> NDArray[np.bool_]:
    """Mark the pixels of a label map, int16[h, w], beside which another label lies."""
    around = np.ones((3, 3), np.uint8)
    return np.asarray(cv2.dilate(labels, around) != cv2.erode(labels, around))


def enlarge(
    labels: NDArray[np.int16],
    mixed: NDArray[np.bool_],
    frame: NDArray[np.uint8],
    image: NDArray[np.uint8],
) -> NDArray[np.int16]:
    """Label a photo uint8[H, W, 3] like its frame uint8[h, w, 3], whose labels are int16[h, w].

    mixed : what `find_mixed` says of the labels; only there can outlines run.
    """
    size = image.shape[0], image.shape[1]
    out = np.empty(size, np.int16)
    rows, columns = (_lines(size[side], labels.shape[side]) for side in (0, 1))
    kernels.enlarge(labels, mixed, _plain(frame), _plain(image), _ALIKE, rows, columns, out)
    return out


def _plain(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The same pixels, as the kind of array that kernels are compiled for."""
    plain = np.ascontiguousarray(image).view()
    plain.flags.writeable = False
    return plain


@lru_cache(maxsize=64)
def _lines(pixels: int, frame: int) -> kernels.Lines:
    place = (np.arange(pixels) + 0.5) * (frame / pixels)
    own = (2 * np.arange(pixels, dtype=np.int64) + 1) * frame // (2 * pixels)  # as `leaves.repeated` has it
    starts = np.searchsorted(own, np.arange(frame + 1))
    away = own[:, None] + np.array([-0.5, 0.5, 1.5]) - place[:, None]
    return kernels.Lines(starts, np.exp(-(away**2) / (2 * PLACE_REACH**2)).astype(np.float32))


def _alike() -> NDArray[np.float32]:
    distance = np.arange(int(-2 * np.log(NEGLIGIBLE) * COLOR_REACH**2))
    return np.append(np.exp(-distance / (2 * COLOR_REACH**2)), NEGLIGIBLE).astype(np.float32)


_ALIKE = _alike()
