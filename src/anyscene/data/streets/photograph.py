"""From a clean painting to a photograph: sky, exposure, blur, noise."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.data.streets.canvas import Canvas, Color, Light
from anyscene.data.streets.textures import noise


def draw_light(rng: np.random.Generator) -> tuple[Light, Color, float]:
    """Choose the weather; returns the light, the colour overhead and how cloudy it is (0 to 1)."""
    weather = rng.choice(["clear", "clouds", "overcast", "dusk"], p=[0.27, 0.33, 0.27, 0.13])
    blue = np.array([96.0, 142, 206]) + rng.uniform(-20, 20, 3)
    pale = np.array([206.0, 216, 226]) + rng.uniform(-10, 10, 3)
    grey = np.full(3, rng.uniform(190, 250)) + rng.uniform(-4, 4, 3)
    sunny = weather in ("clear", "clouds")
    overhead, haze, cloudiness = {
        "clear": (blue, pale, rng.uniform(0, 0.3)),
        "clouds": (0.8 * blue + 20, pale, rng.uniform(0.4, 0.8)),
        "overcast": (grey, grey, rng.uniform(0, 0.4)),
        "dusk": (0.7 * blue, 0.85 * pale, rng.uniform(0.5, 1)),
    }[str(weather)]
    light = Light(
        sun=int(rng.choice([-1, 1])) if sunny else 0,
        reach=float(rng.uniform(0.4, 1.6)),
        haze=haze,
        thickness=float(rng.uniform(0.05, 0.3)),
        exposure=float(rng.uniform(0.35, 0.6) if weather == "dusk" else rng.uniform(0.8, 1.2)),
        warmth=float(rng.uniform(0.93, 1.08)),
    )
    return light, overhead, float(cloudiness)


def paint_sky(canvas: Canvas, rng: np.random.Generator, overhead: Color, cloudiness: float) -> None:
    """Fill the whole image with a sky that pales towards the horizon, with clouds drawn out sideways."""
    rows, columns = 90, 160  # clouds are soft: a small sky, enlarged, is enough
    fade = np.linspace(0, 1, rows)[:, None, None] ** 0.8
    sky = overhead * (1 - fade) + canvas.light.haze * fade
    cover = noise(rng, rows, columns, 0.2)
    opacity = np.clip(0.9 * (cover + 2 * cloudiness - 1), 0, 1)[..., None] * min(1.0, 2 * cloudiness)
    cloud = 232 - 26 * np.clip(cover[..., None] + 0.3, 0, 3)
    sky = np.clip(sky * (1 - opacity) + cloud * opacity, 0, 255).astype(np.uint8)
    height, width = canvas.truth.shape
    bottom = int(np.clip(canvas.camera.horizon, 0, height - 1)) + 1
    canvas.image[:bottom] = cv2.resize(sky, (width, bottom), interpolation=cv2.INTER_LINEAR)
    canvas.image[bottom:] = canvas.image[bottom - 1]


def expose(
    canvas: Canvas, rng: np.random.Generator, noise_rng: np.random.Generator | None = None
) -> NDArray[np.uint8]:
    """Develop the painting: white balance, contrast, the blur of lens and motion, the noise of the sensor."""
    light = canvas.light
    levels = np.arange(256) / 255
    contrast = rng.uniform(0.85, 1.2)
    gains = light.exposure * np.array([light.warmth, 1.0, 1 / light.warmth])
    curves = np.clip(255 * (levels[:, None] * gains) ** contrast, 0, 255).astype(np.uint8)
    image = cv2.LUT(canvas.image, curves[None])
    height, width = canvas.truth.shape
    sigma = rng.uniform(0.45, 0.95) * width / 480
    if sigma > 0.2:
        image = cv2.GaussianBlur(image, (0, 0), sigma)
    strength = rng.uniform(0.03, 0.09)
    grain = (noise_rng or rng).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return np.asarray(cv2.addWeighted(image, 1.0, grain, strength, -127.5 * strength))
