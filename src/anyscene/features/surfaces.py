"""Surface layout: which classes lie flat, stand upright or are sky.

The data sets hold no surface labels; the name of a class tells.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SURFACES = ("ground", "vertical", "sky")

_GROUND = "road pavement sidewalk crosswalk grass field water river sea sand desert"
_SKY = "sky sun moon"
_VERTICAL = (
    "building pole tree sign fence car pedestrian bicyclist mountain foreground "
    "awning balcony boat bridge bus cow door person plant rock staircase streetlight window"
)

SURFACE_OF_CLASS = {
    name: surface for surface, names in enumerate((_GROUND, _VERTICAL, _SKY)) for name in names.split()
}
"""Surfaces of the classes of CamVid, Stanford Background and SIFT Flow; a bird has none."""


def surface_truth(truth: NDArray[np.integer], class_names: Sequence[str]) -> NDArray[np.int16]:
    """Turn class ids into surface ids; void, and classes whose surface is unknown, become -1."""
    # Void is -1 and so picks the last entry.
    table = [SURFACE_OF_CLASS.get(name, -1) for name in class_names]
    surfaces: NDArray[np.int16] = np.array([*table, -1], np.int16)[truth]
    return surfaces
