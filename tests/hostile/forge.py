"""Model and backbone files taken apart and put together again, signed as an attacker would sign them."""

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import load, save

MANIFEST = "manifest.json"
ARRAYS = {".anyscene": "arrays.safetensors", ".backbone": "heads.safetensors"}
ROOT = Path(__file__).parents[2]
MODELS = ROOT / "src" / "anyscene" / "models"
BACKBONES = ROOT / "models" / "src" / "anyscene_models"


@dataclass
class Parts:
    """A file in parts that can be changed: its document, its arrays, its graphs."""

    suffix: str
    manifest: dict
    arrays: dict[str, np.ndarray]
    graphs: dict[str, bytes]


def take_apart(path: Path) -> Parts:
    """Read a model or a backbone that is as it should be."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members.pop(MANIFEST))
    arrays = {name: array.copy() for name, array in load(members.pop(ARRAYS[path.suffix])).items()}
    return Parts(path.suffix, manifest, arrays, members)


def put_together(parts: Parts, signed: bool = True) -> bytes:
    """Return the bytes of a file; checksums are brought up to date where it is signed."""
    arrays = save({name: np.ascontiguousarray(array) for name, array in parts.arrays.items()})
    members = {ARRAYS[parts.suffix]: arrays, **parts.graphs}
    if signed:
        sign(parts.manifest, parts.suffix, members)
    return zipped({MANIFEST: json.dumps(parts.manifest).encode(), **members})


def sign(manifest: dict, suffix: str, members: dict[str, bytes]) -> None:
    """Put the members' checksums into a manifest."""
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    if suffix == ".anyscene":
        manifest["checksums"] = sums
        return
    manifest["heads_sha256"] = sums[ARRAYS[suffix]]
    parts = manifest.get("parts")
    for part in parts if isinstance(parts, dict) else ():
        if isinstance(parts[part], dict) and f"{part}.onnx" in sums:
            parts[part]["graph_sha256"] = sums[f"{part}.onnx"]


def zipped(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """Return the bytes of a zip."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, compression)
    return packed.getvalue()
