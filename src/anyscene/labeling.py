"""`Labeling`: the one result type, which every way of labeling returns and every consumer takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from anyscene.data.classes import VOID, VOID_COLOR, Classes
from anyscene.errors import ConfigError, DataError
from anyscene.files import write_atomically

VOID_ID = 255
"""What void is called in files of ids, which hold bytes and so cannot hold -1."""


@dataclass(frozen=True)
class Step:
    """One action that was taken on the way to a labeling.

    leaves : how many there were after it. doubt : their `mean_entropy`, or a function that works it out.
    """

    action: str
    predicted_ms: float
    actual_ms: float
    leaves: int
    doubt: float | Callable[[], float] = field(repr=False)

    @cached_property
    def mean_entropy(self) -> float:
        """The entropy of the leaves' beliefs after the action, in nats, weighted by area."""
        return self.doubt() if callable(self.doubt) else self.doubt

    def to_dict(self) -> dict[str, str | float]:
        """All of it, by name."""
        named = {field: getattr(self, field) for field in ("action", "predicted_ms", "actual_ms", "leaves")}
        return {**named, "mean_entropy": self.mean_entropy}


@dataclass(frozen=True, eq=False)
class Labeling:
    """A class for every pixel, how sure we are of it, and what it took.

    labels: int16[H, W], ids of `classes`; VOID where there is no answer.
    sureness: what `confidence` shows, or a function that paints it when it is first asked for.
    cost: milliseconds from the call to the label map.
    trace: the actions taken, in order.
    deadline_met: None where there was no deadline.
    """

    labels: NDArray[np.int16]
    sureness: NDArray[np.float32] | Callable[[], NDArray[np.float32]]
    classes: Classes
    cost: float = 0.0
    trace: tuple[Step, ...] = ()
    deadline_met: bool | None = None

    def __post_init__(self) -> None:
        # Values are not looked at: at 12 megapixels that would be paid for out of the deadline.
        if self.labels.ndim != 2 or self.labels.dtype != np.int16:
            raise DataError(f"labels must be int16[H, W], found {self.labels.dtype}{list(self.labels.shape)}")
        if isinstance(self.sureness, np.ndarray):
            self._check(self.sureness)

    @cached_property
    def confidence(self) -> NDArray[np.float32]:
        """The probability that each label is right, float32[H, W]."""
        return self.sureness if isinstance(self.sureness, np.ndarray) else self._check(self.sureness())

    def _check(self, confidence: NDArray[np.float32]) -> NDArray[np.float32]:
        if confidence.shape != self.labels.shape or confidence.dtype != np.float32:
            raise DataError(
                f"confidence must be float32{list(self.labels.shape)} like the labels, "
                f"found {confidence.dtype}{list(confidence.shape)}"
            )
        return confidence

    def color(self) -> NDArray[np.uint8]:
        """The labels in the classes' colours, uint8[H, W, 3]; void is black."""
        colors: NDArray[np.uint8] = np.vstack([self.classes.palette, [VOID_COLOR]]).astype(np.uint8)
        # VOID is -1 and so takes the last row. (Plain indexing would take six times as long.)
        return colors.take(self.labels, axis=0)

    def overlay(self, image: NDArray[np.uint8], opacity: float = 0.5) -> NDArray[np.uint8]:
        """The labels in colour over the image that they belong to; void pixels show the image alone."""
        if image.shape != (*self.labels.shape, 3) or image.dtype != np.uint8:
            raise DataError(
                f"the image under an overlay must be uint8{[*self.labels.shape, 3]} like the labels, "
                f"found {image.dtype}{list(image.shape)}"
            )
        if not 0 <= opacity <= 1:
            raise ConfigError(f"opacity must lie between 0 and 1, found {opacity}")
        blend = cv2.addWeighted(self.color(), opacity, image, 1 - opacity, 0)
        return np.where((self.labels == VOID)[..., None], image, blend).astype(np.uint8, copy=False)

    def save(self, path: str | Path) -> None:
        """Write a palette PNG: each pixel's byte is its class id (void: 255), drawn in the class's colour.

        Pillow, and whatever reads masks with it, gives ids; viewers, OpenCV and imageio give colours.
        """
        if Path(path).suffix.lower() != ".png":
            raise ConfigError(
                f"{path}: labels are saved as PNG, which keeps ids as they are; name a .png file"
            )
        if len(self.classes) > VOID_ID:
            raise DataError(f"a PNG of ids holds at most {VOID_ID} classes, found {len(self.classes)}")
        ids = np.where(self.labels == VOID, VOID_ID, self.labels).astype(np.uint8)
        # All 256 entries, or Pillow would pack the ids into fewer than eight bits.
        palette = np.zeros((256, 3), np.uint8)
        palette[: len(self.classes)] = self.classes.palette
        palette[VOID_ID] = VOID_COLOR
        picture = Image.fromarray(ids)
        picture.putpalette(palette.tobytes())
        with write_atomically(path) as file:
            picture.save(file, "PNG")

    def to_json(self) -> str:
        """Everything but the two maps, as JSON: size, share of each class, cost, trace."""
        height, width = self.labels.shape
        tallies = np.bincount(self.labels.ravel() + 1, minlength=len(self.classes) + 1)
        void, *shares = (tallies / max(1, tallies.sum())).tolist()
        return json.dumps(
            {
                "width": width,
                "height": height,
                "shares": dict(zip(self.classes.names, shares, strict=True)),
                "void_share": void,
                "mean_confidence": float(self.confidence.mean()) if self.confidence.size else None,
                "cost_ms": self.cost,
                "deadline_met": self.deadline_met,
                "trace": [step.to_dict() for step in self.trace],
            }
        )
