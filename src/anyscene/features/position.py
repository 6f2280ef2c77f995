"""`position`: where a region lies, and how far it reaches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from anyscene.features.sets import SHAPES, FeatureSet, register
from anyscene.features.shapes import Shapes


@register
class Position(FeatureSet):
    """Centre, distance from the middle column, spread, box and area, as shares of the frame."""

    name = "position"
    dimensions = 10
    needs = (SHAPES,)

    def features(self, pooled: NDArray[np.float32], shapes: Callable[[], Shapes]) -> NDArray[np.float32]:
        """Describe the regions; there is no map."""
        shape = shapes()
        aside = np.abs(shape.center[:, 1] - 0.5)
        return np.column_stack([shape.center, aside, shape.spread, shape.box, shape.area])
