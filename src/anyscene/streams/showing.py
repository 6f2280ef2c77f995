"""From beliefs in cells to labels of pixels, along the outlines in the frame."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.painting.cells import labels_by_shades
from anyscene.painting.leaves import repeated
from anyscene.painting.outlines import follow_outlines
from anyscene.streams.motion import Sight


def labels_of(
    beliefs: NDArray[np.float32], frame: NDArray[np.uint8], sight: Sight, size: tuple[int, int]
) -> NDArray[np.int16]:
    """Label every pixel of an image of a size (height, width), int16[height, width].

    frame : the image in the size that is worked on. sight : of the frame.
    """
    mixed = follow_outlines(beliefs, sight.colors)
    shades = np.asarray(cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY))
    labels = labels_by_shades(mixed, mixed.shape[2], shades, sight.greys)
    return labels if labels.shape == size else repeated(labels, size)
