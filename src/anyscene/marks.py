"""How anyscene knows the files that it wrote: each carries a mark, and no command writes over any other."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from anyscene.errors import ConfigError
from anyscene.files import is_unfinished

MARK = "written by anyscene"

CHECKSUM = "sha256"
"""Under this name a document holds a hash of the rest of it."""

SEARCHED_BYTES = 4096
"""The mark is searched for in this many bytes at each end of a file."""


def is_ours(path: str | Path) -> bool:
    """Tell whether a file carries the mark."""
    try:
        with open(path, "rb") as file:
            head = file.read(SEARCHED_BYTES)
            file.seek(max(0, os.fstat(file.fileno()).st_size - SEARCHED_BYTES))
            return MARK.encode() in head + file.read()
    except OSError:
        return False


def marked(document: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON document with the mark as its first entry."""
    return {"comment": MARK, **document}


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON document with a checksum of all that it says."""
    said = json.loads(json.dumps({name: value for name, value in document.items() if name != CHECKSUM}))
    return {**said, CHECKSUM: checksum_of(said)}


def read_sealed(path: Path) -> dict[str, Any] | None:
    """What the document in a file says; None where there is none, or not the one that was written.

    Documents of earlier versions have no checksum and are believed.
    """
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    found = document.pop(CHECKSUM, None)
    return document if found in (None, checksum_of(document)) else None


def checksum_of(document: Mapping[str, Any]) -> str:
    """A hash of what a document says."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def picture_mark(format: str) -> dict[str, Any]:
    """Options with which Pillow writes the mark into a picture."""
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    if format == "PNG":
        info = PngInfo()
        info.add_text("Comment", MARK)
        return {"pnginfo": info}
    if format == "WEBP":
        exif = Image.Exif()
        exif[0x010E] = MARK  # ImageDescription
        return {"exif": exif}
    return {"comment": MARK.encode()}


def refuse_to_overwrite(outputs: Iterable[str | Path], inputs: Iterable[str | Path] = ()) -> None:
    """Raise unless every output is new, empty, or a file that anyscene wrote and does not read this time.

    Devices and pipes have nothing to lose.
    """
    read = {identity for path in inputs if (identity := _identity(path))}
    for output in outputs:
        identity = _identity(output)
        if not identity or not os.path.isfile(output):
            continue
        if identity in read:
            raise ConfigError(f"{output} is read by this command and would be lost; choose another output")
        if os.path.getsize(output) and not is_ours(output):
            raise ConfigError(
                f"{output} is there already and was not written by anyscene; "
                "choose another output, or move it away"
            )


def _identity(path: str | Path) -> tuple[int, int] | None:
    """What a path leads to, whatever it is called: links and hard links are the same file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def refuse_foreign_folder(folder: Path, marker: str) -> None:
    """Raise unless a folder is new, empty, or holds a file `marker` that anyscene wrote."""
    # Empty folders, and what a killed process left unfinished, are nothing to lose.
    holds_something = any(not (path.is_dir() or is_unfinished(path)) for path in folder.rglob("*"))
    if holds_something and not is_ours(folder / marker):
        raise ConfigError(
            f"{folder} is not empty and was not made by this command; choose another folder, or move it away"
        )
