"""`Labeling`: the one result type, which every way of labeling returns and every consumer takes."""

from __future__ import annotations

import io
import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from anyscene.data.classes import VOID, VOID_COLOR, Classes
from anyscene.errors import ConfigError, DataError
from anyscene.exports import other_tools
from anyscene.exports.cityscapes import label_ids
from anyscene.exports.coco import LabeledFile, coco_document
from anyscene.exports.outlines import rings
from anyscene.files import write_atomically
from anyscene.marks import picture_mark

VOID_ID = 255
"""What void is called in files of ids, which hold bytes and so cannot hold -1."""


@dataclass(frozen=True)
class Step:
    """One action that was taken on the way to a labeling.

    leaves : how many leaves there were after it. mean_entropy : the entropy of their beliefs in nats,
    weighted by area; None where the labels did not need these beliefs.

    Examples:
        >>> model = anyscene.load("camvid")
        >>> image = anyscene.data.open("streets:1").split("all")[0].image
        >>> for step in model.label(image).trace:
        ...     line = f"{step.action}: {step.actual_ms:.1f} ms"

    """

    action: str
    predicted_ms: float
    actual_ms: float
    leaves: int
    mean_entropy: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Labeling:
    """A class for every pixel, and what it took; plain arrays and numbers that can be compared and pickled.

    labels : int16[H, W], ids of `classes`; VOID where there is no answer.
    classes : names and colours of the ids.
    confidence : float32[H, W], the probability that each label is right; None where nobody asked for it.
    cost : milliseconds from the call to the label map.
    trace : the actions taken, in order.
    deadline_met : whether the labels were there in time; None where there was no deadline.
    is_prior : whether there was no time to look at the image, so that all pixels have the likeliest class.
    familiarity : how much the image is like the training images, from 0 to 1; near 0, confidence means
    nothing. None under a deadline, and where the model cannot say.
    age_ms : for a frame of a stream, how long before it the newest frame came that was looked at.

    Examples:
        >>> scene = anyscene.data.open("streets:1?size=240x180").split("all")[0]
        >>> out = anyscene.load("camvid").label(scene.image, confidence=True)
        >>> out.labels.shape, out.confidence.shape, out.classes.names[0]
        ((180, 240), (180, 240), 'sky')
        >>> shares = out.shares()  # of the pixels, by class name
        >>> out.save("labels.png")
        >>> out.overlay(scene.image).shape
        (180, 240, 3)

    """

    labels: NDArray[np.int16]
    classes: Classes
    confidence: NDArray[np.float32] | None = None
    cost: float = 0.0
    trace: tuple[Step, ...] = ()
    deadline_met: bool | None = None
    is_prior: bool = False
    familiarity: float | None = None
    age_ms: float | None = None

    def __post_init__(self) -> None:
        # Values are not looked at: at 12 megapixels that would be paid for out of the deadline.
        if self.labels.ndim != 2 or self.labels.dtype != np.int16:
            raise DataError(f"labels must be int16[H, W], found {self.labels.dtype}{list(self.labels.shape)}")
        sure = self.confidence
        if sure is not None and (sure.shape != self.labels.shape or sure.dtype != np.float32):
            raise DataError(
                f"confidence must be float32{list(self.labels.shape)} like the labels, "
                f"found {sure.dtype}{list(sure.shape)}"
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Labeling):
            return NotImplemented
        maps = ("labels", "confidence")
        plain = [part.name for part in fields(self) if part.name not in maps]
        return all(getattr(self, name) == getattr(other, name) for name in plain) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in maps
        )

    def __repr__(self) -> str:
        height, width = self.labels.shape
        late = " late" if self.deadline_met is False else ""
        prior = " the prior" if self.is_prior else ""
        return (
            f"<Labeling{prior} {width}x{height}, {len(self.classes)} classes, "
            f"{len(self.trace)} step{'s' * (len(self.trace) != 1)}, {self.cost:.1f} ms{late}>"
        )

    def require_confidence(self) -> NDArray[np.float32]:
        """Return `confidence`, or raise where nobody asked for it."""
        if self.confidence is None:
            raise ConfigError("this labeling has no confidence; ask for it: label(image, confidence=True)")
        return self.confidence

    @property
    def mean_confidence(self) -> float | None:
        """The mean of `confidence`; None where nobody asked for it."""
        return None if self.confidence is None else float(self.confidence.mean())

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
        with write_atomically(path) as file:
            file.write(self.to_png())

    def to_png(self) -> bytes:
        """What `save` writes."""
        if len(self.classes) > VOID_ID:
            raise DataError(f"a PNG of ids holds at most {VOID_ID} classes, found {len(self.classes)}")
        ids = np.where(self.labels == VOID, VOID_ID, self.labels).astype(np.uint8)
        # All 256 entries, or Pillow would pack the ids into fewer than eight bits.
        palette = np.zeros((256, 3), np.uint8)
        palette[: len(self.classes)] = self.classes.palette
        palette[VOID_ID] = VOID_COLOR
        picture = Image.fromarray(ids)
        picture.putpalette(palette.tobytes())
        packed = io.BytesIO()
        picture.save(packed, "PNG", **picture_mark("PNG"))
        return packed.getvalue()

    def masks(self) -> dict[str, NDArray[np.bool_]]:
        """Where each class is seen: bool[H, W] by name, for those that are."""
        seen = np.unique(self.labels[self.labels >= 0]).tolist()
        return {self.classes.names[index]: self.labels == index for index in seen}

    def polygons(self, tolerance: float = 1.0) -> dict[str, list[list[NDArray[np.float64]]]]:
        """The outlines of each class that is seen, by name: its parts, each an outline and its holes.

        A line is float64[points, 2], (x, y). tolerance : how far in pixels it may lie from the true edge.
        """
        return {name: rings(mask, tolerance) for name, mask in self.masks().items()}

    def to_coco(self, file_name: str = "") -> dict[str, Any]:
        """A COCO document of this one image, with run-length codes, one annotation a class.

        `anyscene.exports.coco` has `coco_document` for many images, and `panoptic_document`.
        """
        return coco_document([LabeledFile(file_name, self.labels)], self.classes)

    def to_cityscapes(self) -> NDArray[np.uint8]:
        """Cityscapes' label ids uint8[H, W]; 0 for classes that it does not have."""
        return label_ids(self.labels, self.classes)

    def to_supervision(self) -> Any:
        """A `supervision.Detections` with a row for each class that is seen; needs supervision."""
        return other_tools.to_supervision(self.labels, self.classes, self.confidence)

    def to_fiftyone(self) -> Any:
        """A `fiftyone.Segmentation`; needs FiftyOne. `other_tools.fiftyone_targets` names its values."""
        return other_tools.to_fiftyone(self.labels)

    def shares(self) -> dict[str, float]:
        """The share of the pixels that each class has."""
        tallies = np.bincount(self.labels.ravel() + 1, minlength=len(self.classes) + 1)
        shares = (tallies[1:] / max(1, tallies.sum())).tolist()
        return dict(zip(self.classes.names, shares, strict=True))

    def to_json(self) -> str:
        """Everything but the two maps, as JSON: size, share of each class, cost, trace."""
        height, width = self.labels.shape
        shares = self.shares()
        return json.dumps(
            {
                "width": width,
                "height": height,
                "shares": shares,
                "void_share": float((self.labels == VOID).mean()) if self.labels.size else 0.0,
                "mean_confidence": self.mean_confidence,
                "cost_ms": self.cost,
                "deadline_met": self.deadline_met,
                "is_prior": self.is_prior,
                "familiarity": self.familiarity,
                "trace": [asdict(step) for step in self.trace],
            }
        )
