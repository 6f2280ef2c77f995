"""Training batches: which images, at what size, and how they are varied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.data import VOID
from anyscene.learning.backbone.appearance import change_appearance
from anyscene.learning.backbone.lessons import Cutout, Lessons
from anyscene.learning.backbone.network import OUTPUT_STRIDE, STRIDE
from anyscene.learning.backbone.recipe import Recipe

SMALL = 0.45
"""Inputs up to this share of full size are small: the network takes a fifth of its time on them."""


@dataclass(frozen=True)
class Source:
    """One data set held in memory: images uint8[H, W, 3] and truths int16[H, W], in one order.

    lessons: what a teacher says of the images, where there is one.
    """

    name: str
    images: Sequence[NDArray[np.uint8]]
    truths: Sequence[NDArray[np.int16]]
    lessons: Lessons | None = None

    @cached_property
    def holders(self) -> list[NDArray[np.intp]]:
        """For each class that occurs: the images that show it."""
        shown = [np.setdiff1d(truth, [VOID]) for truth in self.truths]
        classes = np.unique(np.concatenate(shown))
        return [np.flatnonzero([label in labels for labels in shown]) for label in classes]


@dataclass(frozen=True)
class Batch:
    """images: float32[B, 3, H, W], normalised; truths: int64[B, H, W], void where unknown.

    lessons: a teacher's probabilities by head, float32[B, C, H / 4, W / 4]; empty where there is none.
    """

    source: str
    images: NDArray[np.float32]
    truths: NDArray[np.int64]
    lessons: Mapping[str, NDArray[np.float32]]


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
    squeeze = rng.uniform(recipe.squeeze, 1.0) if recipe.squeeze < 1 else 1.0
    height, width = (
        _multiple(side * frame * scale * crop * kept)
        for side, kept in zip(first.shape[:2], (squeeze, 1.0), strict=True)
    )
    images = np.empty((len(picks), 3, height, width), np.float32)
    truths = np.empty((len(picks), height, width), np.int64)
    views = []
    for slot, pick in enumerate(picks):
        share = None if native and frame == 1 else crop
        view = _draw_view(int(pick), source.images[pick].shape[:2], (height, width), share, recipe, rng)
        picture, truths[slot] = _show(source, view, (height, width))
        images[slot] = change_appearance(picture, recipe, rng).transpose(2, 0, 1)
        views.append(view)
    return Batch(source.name, images, truths, _lessons(source, views, (height, width)))


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
    if recipe.small_share > 0 and rng.random() < recipe.small_share:
        return float(np.exp(rng.uniform(np.log(recipe.smallest), np.log(max(SMALL, recipe.smallest)))))
    return float(np.exp(rng.uniform(np.log(recipe.smallest), 0.0)))


def _images_at(scale: float, batch: int) -> int:
    return round(batch * float(np.clip(1 / scale, 1, 2)))


def _multiple(side: float) -> int:
    return max(1, round(side / STRIDE)) * STRIDE


def _draw_view(
    image: int,
    whole: tuple[int, ...],
    size: tuple[int, int],
    crop: float | None,
    recipe: Recipe,
    rng: np.random.Generator,
) -> Cutout:
    """Choose a share of the image, or what has the size already."""
    height, width = whole
    if crop is None:
        tall, wide = min(height, size[0]), min(width, size[1])
    else:
        stretch = 1 - rng.uniform(0, recipe.aspect)
        shares = (crop, crop * stretch) if rng.random() < 0.5 else (crop * stretch, crop)
        tall, wide = max(1, round(height * shares[0])), max(1, round(width * shares[1]))
    top, left = int(rng.integers(height - tall + 1)), int(rng.integers(width - wide + 1))
    return Cutout(image, top, left, tall, wide, bool(rng.random() < 0.5))


def _show(source: Source, view: Cutout, size: tuple[int, int]) -> tuple[NDArray[np.uint8], NDArray[np.int16]]:
    """Cut out what is in view of the image and of its truth, and stretch it to the size."""
    box = np.s_[view.top : view.top + view.height, view.left : view.left + view.width]
    target = (size[1], size[0])
    method = cv2.INTER_AREA if view.height > size[0] else cv2.INTER_LINEAR
    picture = cv2.resize(source.images[view.image][box], target, interpolation=method)
    marks = cv2.resize(source.truths[view.image][box], target, interpolation=cv2.INTER_NEAREST_EXACT)
    return (picture[:, ::-1], marks[:, ::-1]) if view.mirrored else (picture, marks)


def _lessons(
    source: Source, views: Sequence[Cutout], size: tuple[int, int]
) -> dict[str, NDArray[np.float32]]:
    """What the teacher says of the views, on the grid of the student's scores."""
    lessons = source.lessons
    if lessons is None:
        return {}
    grid = (size[0] // OUTPUT_STRIDE, size[1] // OUTPUT_STRIDE)
    sizes = [source.images[view.image].shape for view in views]
    return {
        head: np.stack(
            [lessons.seen(view, whole[:2], grid, head) for view, whole in zip(views, sizes, strict=True)]
        )
        for head in lessons.heads
    }
