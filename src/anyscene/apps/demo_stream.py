"""The stream of `anyscene demo`: a drive labelled frame by frame and as a stream, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from anyscene import metrics
from anyscene.data.clips import Clip
from anyscene.files import write_atomically
from anyscene.labeling import Labeling
from anyscene.marks import picture_mark
from anyscene.streams.engine import StreamingEngine

PICTURE = "stream.gif"
WIDTH = 320
"""Of each of the three panels, in pixels."""

COLORS = 96
"""Of the moving picture; more make it larger, and are hardly seen."""


@dataclass(frozen=True, eq=False)
class Beside:
    """A clip labelled twice within the same time for each frame: every frame alone, and as a stream."""

    clip: Clip
    budget_ms: float
    alone: tuple[Labeling, ...]
    stream: tuple[Labeling, ...]

    def to_json(self) -> dict[str, float | None]:
        """What both came to."""
        return {
            "budget_ms": self.budget_ms,
            "frames": len(self.alone),
            "accuracy_alone": self._accuracy(self.alone),
            "accuracy_stream": self._accuracy(self.stream),
        }

    def _accuracy(self, labelings: tuple[Labeling, ...]) -> float | None:
        """The share of pixels that are right; None where classes are others than the clip's."""
        classes = len(labelings[0].classes)
        truths = [scene.truth for scene in self.clip.frames]
        if any(truth is None or truth.max() >= classes for truth in truths):
            return None
        counts = [
            metrics.count(truth, labeling.labels, classes)
            for truth, labeling in zip(truths, labelings, strict=True)
            if truth is not None
        ]
        return metrics.pixel_accuracy(np.sum(counts, axis=0))


def label_beside(engine: StreamingEngine, clip: Clip, budget_ms: float) -> Beside:
    """Label every frame of a clip alone, and all of them as a stream."""
    images = [scene.image for scene in clip.frames]
    alone = tuple(engine.label(image, budget_ms) for image in images)
    stream = tuple(engine.video(images, budget_ms, frames_per_second=clip.frames_per_second))
    return Beside(clip, budget_ms, alone, stream)


def write_stream(folder: Path, beside: Beside, model: str) -> str:
    """Write the moving picture, and return the section of the page that shows it."""
    frames = [
        np.hstack(
            [
                _panel(picture)
                for picture in (scene.image, alone.overlay(scene.image), live.overlay(scene.image))
            ]
        )
        for scene, alone, live in zip(beside.clip.frames, beside.alone, beside.stream, strict=True)
    ]
    palette = Image.fromarray(np.vstack([frames[0], frames[-1]])).quantize(COLORS)
    drawn = [Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    with write_atomically(folder / PICTURE) as file:
        drawn[0].save(
            file,
            "GIF",
            save_all=True,
            append_images=drawn[1:],
            duration=round(1e3 / beside.clip.frames_per_second),
            loop=0,
            **picture_mark("GIF"),
        )
    words = f"the camera; each frame alone within {beside.budget_ms:g} ms; as a stream, within the same time"
    return (
        f"<h2>A drive, as a stream</h2><p>Labelled by {escape(model)}.{_told(beside)}</p>"
        f'<figure class="wide"><img src="{PICTURE}" alt="{escape(words)}">'
        f"<figcaption>{escape(words)}</figcaption></figure>"
    )


def _told(beside: Beside) -> str:
    found = beside.to_json()
    alone, stream = found["accuracy_alone"], found["accuracy_stream"]
    if alone is None or stream is None:
        return ""
    return f" Pixels right: {alone:.1%} frame by frame, {stream:.1%} as a stream."


def _panel(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    height = round(picture.shape[0] * WIDTH / picture.shape[1])
    return np.asarray(cv2.resize(picture, (WIDTH, height), interpolation=cv2.INTER_AREA), np.uint8)
