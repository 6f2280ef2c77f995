"""How training images are made to look like those of other days, other cameras and other weather."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.learning.backbone.recipe import Recipe

CHANNEL_MEAN = 127.0
CHANNEL_SCALE = 128.0
"""The backbone was trained on (RGB - 127) / 128."""

HAZE = 0.7
"""The grey, as a normalised channel, that haze goes to: that of a bright overcast sky."""


def change_appearance(
    picture: NDArray[np.uint8], recipe: Recipe, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Vary the look of a picture uint8[H, W, 3] as the recipe says, and normalise it."""
    # Nothing is drawn for what a recipe leaves out, so that recipes of before keep their draws.
    if recipe.gamma > 0:
        exponent = 2 ** rng.uniform(-recipe.gamma, recipe.gamma)
        table = (255 * (np.arange(256) / 255) ** exponent).round().astype(np.uint8)
        picture = table[picture]
    if recipe.blur > 0 and rng.random() < 0.5:
        picture = cv2.GaussianBlur(np.ascontiguousarray(picture), (0, 0), rng.uniform(0.1, 1) * recipe.blur)
    colors = _recolor(picture, recipe.jitter, rng)
    if recipe.haze > 0 and rng.random() < 0.5:
        share = np.float32(rng.uniform(0, recipe.haze))
        colors = colors * (1 - share) + np.float32(HAZE) * share
    if recipe.noise > 0 and rng.random() < 0.5:
        grain = rng.standard_normal(colors.shape, np.float32)
        colors = colors + np.float32(rng.uniform(0, recipe.noise)) * grain
    return colors


def _recolor(picture: NDArray[np.uint8], jitter: float, rng: np.random.Generator) -> NDArray[np.float32]:
    """Vary brightness, contrast, saturation and tint, and normalise."""
    contrast, saturation = 1 + rng.uniform(-jitter, jitter, 2)
    brightness = rng.uniform(-jitter, jitter) * 0.5
    tint = 1 + rng.uniform(-jitter, jitter, 3) * 0.3
    colors = (picture.astype(np.float32) - CHANNEL_MEAN) / CHANNEL_SCALE
    grey = colors.mean(axis=2, keepdims=True)
    colors = (grey + (colors - grey) * np.float32(saturation)) * (tint * contrast).astype(np.float32)
    return np.asarray(colors + np.float32(brightness))
