"""The backbone file: a trained network, its cross-fit parts, and what each was fitted to.

A `.backbone` file is an uncompressed zip of `manifest.json`, `heads.safetensors` (fp16) and one ONNX graph a
part (fp16 weights). Nothing in it can run code on load. The part `train` labels; the parts `a` and `b` were
fitted to one half of the training images each, so that every training image can be scored by a network that
has not seen
it: whatever learns from scores must learn from those, or it will trust them too much on new images.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load, save

from anyscene.errors import ModelError
from anyscene.features.hypercolumn.network import Head
from anyscene.files import write_atomically

SCHEMA = 1
MANIFEST, HEADS = "manifest.json", "heads.safetensors"
MAIN = "train"


class PartRecord(BaseModel):
    """What the manifest says of one part."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    graph_sha256: str
    seen: tuple[str, ...] = Field(description="keys of the images that the part was fitted to")
    recipe: dict[str, object]


class Manifest(BaseModel):
    """What is in a backbone file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int
    classes: dict[str, tuple[str, ...]] = Field(description="class names of the head of each data set")
    parts: dict[str, PartRecord]
    heads_sha256: str


class SeenByAllError(ModelError):
    """No part of a backbone may judge an image: each was fitted to it."""


@dataclass(frozen=True, eq=False)
class Backbone:
    """A trained network with its parts, in memory.

    classes: names, by data set. graphs: the ONNX model of each part. heads: by (part, data set).
    seen: keys of the images that each part was fitted to, see `image_key`. recipes: how each was trained.
    """

    classes: Mapping[str, tuple[str, ...]]
    graphs: Mapping[str, bytes]
    heads: Mapping[tuple[str, str], Head]
    seen: Mapping[str, frozenset[str]]
    recipes: Mapping[str, Mapping[str, object]]

    def part_for(self, key: str) -> str:
        """The part whose scores may be learned from on the image with this key: one that has not seen it."""
        if key not in self.seen[MAIN]:
            return MAIN
        for part in sorted(self.graphs):
            if key not in self.seen[part]:
                return part
        raise SeenByAllError(
            f"every part of the backbone was fitted to image {key}, so its scores cannot be learned from; "
            "use a backbone with the parts 'a' and 'b', or other images"
        )


def shipped_backbone(dataset: str = "") -> Path:
    """Where the backbone that ships lies: a data set's own if there is one, else the joint one."""
    models = Path(str(resources.files("anyscene"))) / "models"
    own = models / f"{dataset}.backbone"
    return own if dataset and own.exists() else models / "joint.backbone"


def write_backbone(path: Path, backbone: Backbone) -> None:
    """Write a backbone file, wholly or not at all."""
    tensors: dict[str, NDArray[np.float16]] = {}
    for (part, name), head in backbone.heads.items():
        tensors[f"{part}/{name}/weight"] = head.weight.astype(np.float16)
        tensors[f"{part}/{name}/bias"] = head.bias.astype(np.float16)
    heads = save(tensors)
    parts = {
        part: PartRecord(
            graph_sha256=_sha256(graph),
            seen=tuple(sorted(backbone.seen[part])),
            recipe=dict(backbone.recipes[part]),
        )
        for part, graph in backbone.graphs.items()
    }
    manifest = Manifest(
        schema_version=SCHEMA, classes=dict(backbone.classes), parts=parts, heads_sha256=_sha256(heads)
    )
    with write_atomically(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _add(archive, MANIFEST, manifest.model_dump_json().encode())
        _add(archive, HEADS, heads)
        for part, graph in backbone.graphs.items():
            _add(archive, f"{part}.onnx", graph)


def read_backbone(path: Path) -> Backbone:
    """Read and check a backbone file; whatever is wrong with it is one sentence."""
    try:
        with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        manifest = Manifest.model_validate_json(members[MANIFEST])
    except OSError as error:
        raise ModelError(f"cannot read the backbone {path}: {error.strerror}") from error
    except (zipfile.BadZipFile, KeyError, ValidationError) as error:
        raise ModelError(f"{path} is not a backbone file, or is damaged; get or train it anew") from error
    if manifest.schema_version != SCHEMA:
        raise ModelError(
            f"{path} is a backbone of version {manifest.schema_version}, but this anyscene reads {SCHEMA}; "
            "train it anew, or use the anyscene that made it"
        )
    graphs = {part: members.get(f"{part}.onnx", b"") for part in manifest.parts}
    for name, found, expected in [
        (HEADS, members.get(HEADS, b""), manifest.heads_sha256),
        *((f"{part}.onnx", graphs[part], record.graph_sha256) for part, record in manifest.parts.items()),
    ]:
        if _sha256(found) != expected:
            raise ModelError(f"{path} is damaged: {name} is not what was written; get the file anew")
    return Backbone(
        manifest.classes,
        graphs,
        _read_heads(path, members[HEADS], manifest),
        {part: frozenset(record.seen) for part, record in manifest.parts.items()},
        {part: record.recipe for part, record in manifest.parts.items()},
    )


def _read_heads(path: Path, data: bytes, manifest: Manifest) -> dict[tuple[str, str], Head]:
    try:
        tensors = {name: value.astype(np.float32) for name, value in load(data).items()}
        return {
            (part, name): Head(tensors[f"{part}/{name}/weight"], tensors[f"{part}/{name}/bias"], len(classes))
            for part in manifest.parts
            for name, classes in manifest.classes.items()
        }
    except (SafetensorError, KeyError) as error:
        raise ModelError(
            f"{path} is damaged: its heads cannot be read ({error}); get the file anew"
        ) from error


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    # A fixed date: the same backbone gives the same bytes.
    archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
