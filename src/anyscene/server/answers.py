"""A labeling as the bytes of an answer: PNG, JSON with COCO's run lengths, NPZ, or bare tensors."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.data.classes import VOID_COLOR, Classes
from anyscene.labeling import VOID_ID, Labeling

OPACITY = 0.5
"""Of the labels in an overlay."""

ZLIB_MEMORY = 5
"""zlib's memory level: runs need no long memory, and clearing that of level 9 takes a third of the time."""


def encode(labeling: Labeling, image: NDArray[np.uint8], answer: str) -> bytes:
    """Return the labels in one of the ways of `asks.FORMATS`, or as "tensor"."""
    if answer == "ids":
        return _palette_png(labeling)
    if answer == "overlay":
        return _rgb_png(labeling.overlay(image, OPACITY))
    if answer == "json":
        return json.dumps({**summary(labeling), **labeling.to_coco()}).encode()
    if answer == "npz":
        return _npz(labeling)
    return labeling.labels.tobytes() + _confidence(labeling).tobytes()


def summary(labeling: Labeling) -> dict[str, Any]:
    """All but the two maps, as plain JSON."""
    height, width = labeling.labels.shape
    return {
        "width": width,
        "height": height,
        "shares": labeling.shares(),
        "mean_confidence": mean_confidence(labeling),
        "cost_ms": labeling.cost,
        "is_prior": labeling.is_prior,
        "trace": [
            {"action": step.action, "predicted_ms": step.predicted_ms, "actual_ms": step.actual_ms}
            for step in labeling.trace
        ],
    }


def mean_confidence(labeling: Labeling) -> float:
    """How sure the labels are on average."""
    return float(_confidence(labeling).mean())


def _confidence(labeling: Labeling) -> NDArray[np.float32]:
    assert labeling.confidence is not None, "workers always ask for it"
    return labeling.confidence


def ids(labeling: Labeling) -> NDArray[np.uint8]:
    """The labels as bytes; void is 255, which -1 becomes by itself."""
    return labeling.labels.astype(np.uint8)


def _palette_png(labeling: Labeling) -> bytes:
    """As `Labeling.save` writes it, in a third of the time: maps of labels are runs of the same byte."""
    height, width = labeling.labels.shape
    rows = np.zeros((height, width + 1), np.uint8)  # each row begins with its filter: none
    rows[:, 1:] = ids(labeling)
    packer = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS, ZLIB_MEMORY, zlib.Z_RLE)
    data = packer.compress(rows.data) + packer.flush()
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"PLTE", _palette(labeling.classes)), (b"IDAT", data), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


def _palette(classes: Classes) -> bytes:
    palette = np.zeros((256, 3), np.uint8)
    palette[: len(classes)] = classes.palette
    palette[VOID_ID] = VOID_COLOR
    return palette.tobytes()


def _rgb_png(picture: NDArray[np.uint8]) -> bytes:
    fast = [cv2.IMWRITE_PNG_COMPRESSION, 1]
    return bytes(cv2.imencode(".png", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR), fast)[1])


def _npz(labeling: Labeling) -> bytes:
    """What `numpy.load` reads: `labels` and `confidence` (in 255ths) as uint8[H, W], and `summary.json`."""
    arrays = {
        "labels": ids(labeling),
        "confidence": np.rint(_confidence(labeling) * 255).astype(np.uint8),
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.save(member, array, allow_pickle=False)
            archive.writestr(f"{name}.npy", member.getvalue())
        archive.writestr("summary.json", json.dumps(summary(labeling)))
    return file.getvalue()
