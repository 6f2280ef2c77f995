"""The backbone file: a trained network, its cross-fit parts, and what each was fitted to.

A `.backbone` file is an uncompressed zip of `manifest.json`, `heads.safetensors` (fp16) and one ONNX graph a
part (fp16 weights). Nothing in it can run code on load. The part `train` labels new images. The parts `a` and
`b` were fitted to one half of the training images each, so that a network that has not seen it can score each
training image. Whatever learns from scores must learn from these, or it trusts scores too much on new images.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load, save

from anyscene.archives import MANIFEST, read_archive, read_manifest
from anyscene.checks import check_keys, check_names
from anyscene.errors import ModelError
from anyscene.features.hypercolumn.network import Head, check_head
from anyscene.files import write_atomically
from anyscene.marks import MARK

SCHEMA = 1
HEADS = "heads.safetensors"
MAIN = "train"
PACKAGE = "anyscene_models"
"""The distribution anyscene-models: networks to start training from, which labeling does not need."""


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
    classes: dict[str, tuple[str, ...]] = Field(
        description="class names of the head of each data set", max_length=64
    )
    parts: dict[str, PartRecord] = Field(max_length=16)
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


def installed_backbone(dataset: str = "") -> Path | None:
    """The backbone file for a data set, its own or else the joint one; None without anyscene-models."""
    if find_spec(PACKAGE) is None:
        return None
    folder = Path(str(resources.files(PACKAGE)))
    own = folder / f"{dataset}.backbone"
    return own if dataset and own.exists() else folder / "joint.backbone"


def shipped_backbone(dataset: str = "") -> Path:
    """As `installed_backbone`, where there must be one."""
    found = installed_backbone(dataset)
    if found is None:
        raise ModelError(
            "training starts from a network of the package anyscene-models, which is not installed; "
            "`pip install 'anyscene[models]'` adds it (`pip install ./models` in the repository), "
            "`--backbone FILE` names another one, `--without-network` learns from the other features alone"
        )
    return found


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
        archive.comment = MARK.encode()
        _add(archive, MANIFEST, manifest.model_dump_json().encode())
        _add(archive, HEADS, heads)
        for part, graph in backbone.graphs.items():
            _add(archive, f"{part}.onnx", graph)


def read_backbone(path: Path) -> Backbone:
    """Read and check a backbone file; an error says in one sentence what is wrong with it."""
    members = read_archive(path, "backbone file")
    document = read_manifest(path, members, "backbone file")
    if (version := document.get("schema_version")) != SCHEMA:
        raise ModelError(
            f"{path} is a backbone of version {str(version)[:20]!a}, but this anyscene reads {SCHEMA}; "
            "train it anew, or use the anyscene that made it"
        )
    try:
        manifest = Manifest.model_validate(document)
    except ValidationError as error:
        raise ModelError(f"{path} is not a backbone file, or is damaged; get or train it anew") from error
    sums = {f"{part}.onnx": record.graph_sha256 for part, record in manifest.parts.items()}
    for name, expected in {HEADS: manifest.heads_sha256, **sums}.items():
        if _sha256(members.get(name, b"")) != expected:
            raise ModelError(f"{path} is damaged: {name} is not what was written; get the file anew")
    try:
        check_keys("its members", members, (MANIFEST, HEADS, *sums))
        heads = _check_heads(load(members[HEADS]), manifest)
    except (SafetensorError, KeyError, ValueError) as error:
        raise ModelError(f"{path} contradicts itself ({error}); get or train it anew") from error
    return Backbone(
        manifest.classes,
        {part: members[f"{part}.onnx"] for part in manifest.parts},
        heads,
        {part: frozenset(record.seen) for part, record in manifest.parts.items()},
        {part: record.recipe for part, record in manifest.parts.items()},
    )


def _check_heads(stored: Mapping[str, NDArray[Any]], manifest: Manifest) -> dict[tuple[str, str], Head]:
    """Return the head of each part for each data set; a ValueError says what does not fit."""
    if MAIN not in manifest.parts:
        raise ValueError(f"there is no part '{MAIN}'")
    check_names("parts", tuple(manifest.parts))
    check_names("data sets", tuple(manifest.classes))
    for name, classes in manifest.classes.items():
        check_names(f"classes of {name}", classes)
    pairs = [(part, name) for part in manifest.parts for name in manifest.classes]
    kinds = [f"{part}/{name}/{kind}" for part, name in pairs for kind in ("weight", "bias")]
    check_keys("the heads", stored, kinds)
    if any(array.dtype != np.float16 for array in stored.values()):
        raise ValueError("the heads are not of half precision")
    heads = {}
    for part, name in pairs:
        weight, bias = (stored[f"{part}/{name}/{kind}"].astype(np.float32) for kind in ("weight", "bias"))
        check_head(weight, bias, len(manifest.classes[name]))
        heads[part, name] = Head(weight, bias, len(manifest.classes[name]))
    return heads


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    # A fixed date: the same backbone gives the same bytes.
    archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
