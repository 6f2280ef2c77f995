"""From beliefs in cells to labels of pixels, as well as there is time for."""

from __future__ import annotations

import time
from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.painting.cells import labels_by_shades
from anyscene.painting.leaves import repeated
from anyscene.painting.outlines import follow_outlines
from anyscene.streams.memory import Carried
from anyscene.streams.motion import Sight
from anyscene.streams.pace import Pace

MARGIN = 1.3
"""Painting may take so many times what it usually takes."""


def labels_of(
    beliefs: NDArray[np.float32],
    frame: NDArray[np.uint8],
    sight: Sight,
    size: tuple[int, int],
    outlines: bool = True,
) -> NDArray[np.int16]:
    """Label every pixel of an image of a size (height, width), int16[height, width].

    frame : the image in the size that is worked on. sight : of the frame, in cells like those of the beliefs.
    outlines : whether cells of like colour first share what they believe; that takes longest.
    """
    mixed = follow_outlines(beliefs, sight.colors) if outlines else beliefs
    shades = np.asarray(cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY))
    labels = labels_by_shades(mixed, mixed.shape[2], shades, sight.greys)
    return labels if labels.shape == size else repeated(labels, size)


class Painter:
    """Paints in the best way that fits: along outlines, or else by the shades of pixels alone.

    What a look between calls has told was mixed along outlines there.
    """

    def __init__(self) -> None:
        self._along_outlines, self._by_shades = Pace(1.0, MARGIN), Pace(0.3, MARGIN)

    def labels(
        self,
        carried: Carried,
        frame: NDArray[np.uint8],
        sight: Sight,
        size: tuple[int, int],
        within_ms: float,
    ) -> NDArray[np.int16] | None:
        """Label every pixel as `labels_of` does; None if there is no time for it.

        carried : is moved only if there is time.
        """
        if carried.known.outlined is None and self._along_outlines.fits(within_ms):
            return _timed(self._along_outlines, lambda: labels_of(carried.memory.scores, frame, sight, size))
        if self._by_shades.fits(within_ms):
            return _timed(
                self._by_shades, lambda: labels_of(carried.painted_by, frame, sight, size, outlines=False)
            )
        return None


def _timed(pace: Pace, paint: Callable[[], NDArray[np.int16]]) -> NDArray[np.int16]:
    begun = time.perf_counter()
    labels = paint()
    pace.note((time.perf_counter() - begun) * 1e3)
    return labels
