"""Archives of models and backbones: plain zips, whose members are checked before any is read."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from anyscene.errors import ModelError

MANIFEST = "manifest.json"

LARGEST_ARCHIVE = 512 * 2**20
"""Bytes. What is larger might not fit the memory together with all that is made of it."""

LARGEST_MANIFEST = 8 * 2**20
"""Bytes; parsed JSON takes some thirty times as much memory."""

MOST_MEMBERS = 64


def read_archive(path: Path, kind: str) -> dict[str, bytes]:
    """Return the members of an uncompressed zip by name; whatever else the file is, is one sentence.

    Members must be stored as they are and lie apart: so an archive never takes more memory than disk.
    kind : what the file should be, for messages.
    """
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise ModelError(f"{path} is not a file, so it is no {kind}; name a file")
        if size > LARGEST_ARCHIVE:
            raise ModelError(
                f"{path} has {size // 2**20} MB, and no {kind} has more than {LARGEST_ARCHIVE // 2**20} MB; "
                "check that it is the file you mean"
            )
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if problem := _problem(members, size):
                raise ModelError(f"{path} is not {_article(kind)}: {problem}; get the file anew")
            return {member.filename: archive.read(member) for member in members}
    except OSError as error:
        raise ModelError(f"cannot read the {kind} {path}: {error.strerror or error}") from error
    except ModelError:
        raise
    except Exception as error:  # zipfile raises classes of many modules, one for each kind of damage
        raise ModelError(f"{path} is not {_article(kind)}, or was cut short ({error})") from error


def read_manifest(path: Path, members: dict[str, bytes], kind: str) -> dict[str, Any]:
    """Return the manifest of an archive as a plain document."""
    try:
        text = members[MANIFEST]
        document = json.loads(text) if len(text) <= LARGEST_MANIFEST else None
        json.dumps(document, allow_nan=False)  # infinite numbers are no JSON: who shows them would fail
    except (KeyError, ValueError, RecursionError) as error:
        raise ModelError(
            f"{path} is not {_article(kind)}: its {MANIFEST} is missing or unreadable"
        ) from error
    if not isinstance(document, dict):
        raise ModelError(f"{path} is not {_article(kind)}: its {MANIFEST} is too large, or not an object")
    return document


def _problem(members: list[zipfile.ZipInfo], size: int) -> str | None:
    """What is wrong with an archive of so many bytes; None if nothing is."""
    names = [member.filename for member in members]
    if len(members) > MOST_MEMBERS:
        return f"it has {len(members)} members"
    if len(set(names)) < len(names):
        return "two of its members have the same name"
    if any(member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1 for member in members):
        return "its members are compressed or encrypted"
    if sum(member.file_size for member in members) > size:
        return "its members are larger than the file"
    return None


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
