"""Training batches: which images, at what size, and how they are varied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.data import VOID
from anyscene.learning.backbone.network import STRIDE
from anyscene.learning.backbone.recipe import Recipe

CHANNEL_MEAN = 127.0
CHANNEL_SCALE = 128.0
"""The backbone was trained on (RGB - 127) / 128."""


@dataclass(frozen=True)
class Source:
    """One data set held in memory: images uint8[H, W, 3] and truths int16[H, W], in one order."""

    name: str
    images: Sequence[NDArray[np.uint8]]
    truths: Sequence[NDArray[np.int16]]

    @cached_property
    def holders(self) -> list[NDArray[np.intp]]:
        """For each class that occurs: the images that show it."""
        shown = [np.setdiff1d(truth, [VOID]) for truth in self.truths]
        classes = np.unique(np.concatenate(shown))
        return [np.flatnonzero([label in labels for labels in shown]) for label in classes]


@dataclass(frozen=True)
class Batch:
    """images: float32[B, 3, H, W], normalised; truths: int64[B, H, W], void where unknown."""

    source: str
    images: NDArray[np.float32]
    truths: NDArray[np.int64]


def class_weights(truths: Sequence[NDArray[np.int16]], classes: int, power: float) -> NDArray[np.float32]:
    """Weight rare classes more: share to the minus `power`, at most 5 times the mean; a pixel's mean is 1."""
    counts = np.zeros(classes, np.int64)
    for truth in truths:
        counts += np.bincount(truth[truth != VOID].ravel(), minlength=classes)
    share = counts / max(counts.sum(), 1)
    weights = np.where(share > 0, np.maximum(share, 1e-5) ** -power, 0.0)
    weights = np.minimum(weights, 5 * weights[share > 0].mean()) if share.any() else weights
    return (weights / max(float((weights * share).sum()), 1e-12)).astype(np.float32)


def draw_batch(sources: Sequence[Source], recipe: Recipe, rng: np.random.Generator) -> Batch:
    """Draw one batch: a data set, one input size for all, and images varied each in its own way."""
    odds = np.array([recipe.shares.get(source.name, 1.0) for source in sources])
    source = sources[rng.choice(len(sources), p=odds / odds.sum())]
    # The short circuit keeps the draws of recipes without native steps what they were.
    native = recipe.native > 0 and rng.random() < recipe.native
    scale = 1.0 if native else _draw_scale(recipe, rng)
    picks = _draw_images(source, _images_at(scale, recipe.batch), recipe.rare_images, rng)
    # The first image sets the size for all: a data set may mix sizes and orientations.
    first = source.images[picks[0]]
    crop = rng.uniform(recipe.crop, 1.0) if rng.random() < 0.5 else 1.0
    frame = min(1.0, recipe.long_side / max(first.shape[:2]))
    height, width = (_multiple(side * frame * scale * crop) for side in first.shape[:2])
    images = np.empty((len(picks), 3, height, width), np.float32)
    truths = np.empty((len(picks), height, width), np.int64)
    for slot, pick in enumerate(picks):
        share = None if native and frame == 1 else crop
        image, truth = _vary(source.images[pick], source.truths[pick], (height, width), share, recipe, rng)
        images[slot] = image.transpose(2, 0, 1)
        truths[slot] = truth
    return Batch(source.name, images, truths)


def _draw_images(
    source: Source, count: int, rare_images: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    picks = rng.integers(len(source.images), size=count)
    for slot in np.flatnonzero(rng.random(count) < rare_images):
        holders = source.holders[rng.integers(len(source.holders))]
        picks[slot] = rng.choice(holders)
    return picks


def _draw_scale(recipe: Recipe, rng: np.random.Generator) -> float:
    if rng.random() < recipe.full_share:
        return float(rng.uniform(0.85, recipe.largest))
    return float(np.exp(rng.uniform(np.log(recipe.smallest), 0.0)))


def _images_at(scale: float, batch: int) -> int:
    return round(batch * float(np.clip(1 / scale, 1, 2)))


def _multiple(side: float) -> int:
    return max(1, round(side / STRIDE)) * STRIDE


def _vary(
    image: NDArray[np.uint8],
    truth: NDArray[np.int16],
    size: tuple[int, int],
    crop: float | None,
    recipe: Recipe,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float32], NDArray[np.int16]]:
    """Cut out a share of the image, or what has the size already; stretch it to the size and recolor it."""
    height, width = image.shape[:2]
    if crop is None:
        tall, wide = min(height, size[0]), min(width, size[1])
    else:
        stretch = 1 - rng.uniform(0, recipe.aspect)
        shares = (crop, crop * stretch) if rng.random() < 0.5 else (crop * stretch, crop)
        tall, wide = max(1, round(height * shares[0])), max(1, round(width * shares[1]))
    top, left = rng.integers(height - tall + 1), rng.integers(width - wide + 1)
    part = image[top : top + tall, left : left + wide]
    marks = truth[top : top + tall, left : left + wide]
    shrinking = part.shape[0] > size[0]
    target = (size[1], size[0])
    picture = cv2.resize(part, target, interpolation=cv2.INTER_AREA if shrinking else cv2.INTER_LINEAR)
    marks = cv2.resize(marks, target, interpolation=cv2.INTER_NEAREST_EXACT)
    if rng.random() < 0.5:
        picture, marks = picture[:, ::-1], marks[:, ::-1]
    return _recolor(picture, recipe.jitter, rng), marks


def _recolor(picture: NDArray[np.uint8], jitter: float, rng: np.random.Generator) -> NDArray[np.float32]:
    """Vary brightness, contrast, saturation and tint, and normalise."""
    contrast, saturation = 1 + rng.uniform(-jitter, jitter, 2)
    brightness = rng.uniform(-jitter, jitter) * 0.5
    tint = 1 + rng.uniform(-jitter, jitter, 3) * 0.3
    colors = (picture.astype(np.float32) - CHANNEL_MEAN) / CHANNEL_SCALE
    grey = colors.mean(axis=2, keepdims=True)
    colors = (grey + (colors - grey) * np.float32(saturation)) * (tint * contrast).astype(np.float32)
    return np.asarray(colors + np.float32(brightness))
