"""Where anyscene keeps files of its own, and how it writes any file: wholly or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal

from anyscene.errors import ConfigError


def cache_dir() -> Path:
    """The user's cache folder for anyscene, not necessarily there yet.

    `ANYSCENE_CACHE` names it outright; otherwise it is `anyscene` in the XDG cache folder.
    """
    if own := os.environ.get("ANYSCENE_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "anyscene"


@contextmanager
def write_atomically(path: str | Path) -> Iterator[BinaryIO]:
    """Open `path` for writing bytes; it appears, whole, only when the block ends well.

    Missing folders are made. When the block raises, whatever `path` held before is still there. Links and
    devices, such as /dev/stdout, are written through, never replaced.
    """
    path = Path(path)
    if path.is_dir():
        raise ConfigError(f"cannot write {path}: it is a folder; name a file")
    if path.is_symlink() or (path.exists() and not path.is_file()):
        with _open(path, "wb", path) as file:
            yield file
        return
    # Not the tempfile module: its files are readable by their owner only, whatever the umask says.
    partial = path.parent / f".{secrets.token_hex(8)}.partial"
    file = _open(partial, "xb", path)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _open(place: Path, mode: Literal["wb", "xb"], wanted: Path) -> BinaryIO:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        return open(place, mode)
    except OSError as error:
        raise ConfigError(f"cannot write {wanted}: {error.strerror}; choose another place") from error
