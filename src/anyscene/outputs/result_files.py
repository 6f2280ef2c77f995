"""The files of one labelled image, as bytes: wherever a job runs, it writes the same."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from anyscene.labeling import Labeling
from anyscene.marks import marked, picture_mark
from anyscene.outputs.drawing import draw_overlay

IDS = ".png"
SUFFIXES = {
    "overlay": ".overlay.png",
    "confidence": ".confidence.png",
    "trace": ".trace.json",
    "cityscapes": "_labelIds.png",
}
"""What may be written beside the ids, and how its files end."""

PICTURE_COMPRESSION = 2
"""zlib's level for pictures to look at: higher ones take several times as long, and save few bytes."""


def needs_confidence(extras: Sequence[str]) -> bool:
    """Tell whether some of the files say how sure the labels are."""
    return bool({"confidence", "trace"} & set(extras))


def result_files(
    labeling: Labeling, image: NDArray[np.uint8], extras: Sequence[str], opacity: float
) -> Iterator[tuple[str, bytes]]:
    """Yield how each file ends and what it holds; the ids come last, as a sign that all is there."""
    if "overlay" in extras:
        yield SUFFIXES["overlay"], _png(draw_overlay(labeling, image, opacity))
    if "confidence" in extras:
        sure = np.rint(labeling.require_confidence() * 255).astype(np.uint8)
        yield SUFFIXES["confidence"], _png(sure)
    if "cityscapes" in extras:
        yield SUFFIXES["cityscapes"], _png(labeling.to_cityscapes())
    if "trace" in extras:
        yield SUFFIXES["trace"], json_bytes(marked(json.loads(labeling.to_json())))
    yield IDS, labeling.to_png()


def json_bytes(document: Mapping[str, Any]) -> bytes:
    """A document as our files hold it."""
    return json.dumps(document, indent=1).encode()


def _png(picture: NDArray[np.uint8]) -> bytes:
    packed = io.BytesIO()
    Image.fromarray(picture).save(packed, "PNG", compress_level=PICTURE_COMPRESSION, **picture_mark("PNG"))
    return packed.getvalue()
