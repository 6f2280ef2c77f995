"""`color`: how light and of what hue a region is, and how evenly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anyscene.features.pooling import Pooling
from anyscene.features.sets import FeatureSet, register
from anyscene.features.view import View


@register
class Color(FeatureSet):
    """Mean, standard deviation and 8-bin histogram of each channel of Lab.

    The map follows the tree, so that the first layers need only a small image.
    """

    name = "color"
    dimensions = 30
    needs = ("lab",)
    pooling = Pooling.MARGINALS
    channels = 3
    follows_tree = True

    def extract(self, view: View) -> NDArray[np.uint8]:
        """Lab as bytes, uint8[h', w', 3]."""
        lab: NDArray[np.uint8] = view.shared("lab")
        return lab
