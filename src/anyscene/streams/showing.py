"""From beliefs in cells to labels of pixels, along the outlines in the frame."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.hierarchy.pyramid import quarter_of
from anyscene.painting.cells import labels_by_shades
from anyscene.painting.leaves import repeated
from anyscene.painting.outlines import follow_outlines


def labels_of(
    beliefs: NDArray[np.float32], frame: NDArray[np.uint8], size: tuple[int, int]
) -> NDArray[np.int16]:
    """Label every pixel of an image of a size (height, width) by its working frame, int16[height, width]."""
    colors = quarter_of(frame)  # CELL by CELL pixels
    mixed = follow_outlines(beliefs, colors)
    shades, cell_shades = (np.asarray(cv2.cvtColor(each, cv2.COLOR_RGB2GRAY)) for each in (frame, colors))
    labels = labels_by_shades(mixed, mixed.shape[2], shades, cell_shades)
    return labels if labels.shape == size else repeated(labels, size)
