"""Where anyscene keeps files of its own, and how it writes any file: wholly or not at all."""

from __future__ import annotations

import atexit
import errno
import hashlib
import logging
import os
import platform
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

from anyscene.errors import ConfigError

logger = logging.getLogger(__name__)

STALE_SECONDS = 24 * 3600
"""An unfinished file of another machine counts as left behind by a killed process after this time."""

_HOST = hashlib.sha256(platform.node().encode()).hexdigest()[:8]
_PARTIAL = re.compile(r"\.(?P<host>[0-9a-f]{8})-(?P<process>[0-9]{1,10})-[0-9a-f]{16}\.partial(\.\w+)?")
"""Unfinished files name the machine and the process that writes them: others can tell whether it lives."""


def cache_dir() -> Path:
    """The user's cache folder for anyscene.

    `ANYSCENE_CACHE` names it outright; otherwise it is `anyscene` in the XDG cache folder. Where it cannot be
    written, as in many containers, a temporary folder with the same calibrations takes its place, for this
    process and those that it starts.
    """
    if own := os.environ.get("ANYSCENE_CACHE"):
        wanted = Path(own)
    else:
        wanted = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "anyscene"
    if is_writable(wanted):
        return wanted
    made = temporary_folder()
    with suppress(OSError, shutil.Error):
        shutil.copytree(wanted / "calibration", made / "calibration")
    os.environ["ANYSCENE_CACHE"] = str(made)
    logger.warning(
        "the cache folder %s cannot be written: what is measured and computed is lost at the end; "
        "ANYSCENE_CACHE names another",
        wanted,
    )
    return made


def room_for_compiled_code() -> Path:
    """Where numba may keep what it compiles, if not beside the sources."""
    return cache_dir() / "compiled"


def is_writable(folder: Path) -> bool:
    """Tell whether files can be made in a folder, which is made if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def temporary_folder() -> Path:
    """Make a folder that only this user can read and that is removed when this process ends."""
    made = Path(tempfile.mkdtemp(prefix="anyscene-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@contextmanager
def alone(task: str) -> Iterator[None]:
    """Let one process of this user at a time do a task; others wait. Where there are no locks, all do it."""
    with ExitStack() as stack:
        with suppress(ImportError, OSError):
            import fcntl

            file = stack.enter_context(open(cache_dir() / f"{task}.lock", "wb"))
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def write_atomically(path: str | Path, sync: bool = True) -> Iterator[BinaryIO]:
    """Open `path` for writing bytes; it appears, whole, only when the block ends well.

    Missing folders are made. When the block raises, whatever `path` held before is still there. Links and
    devices, such as /dev/stdout, are written through, never replaced.
    sync : whether to wait until the disk has the bytes; without, a file that a power cut damages takes the
    place of the one before.
    """
    path = Path(path)
    with told_as_one_sentence(path):
        if path.is_dir():
            raise ConfigError(f"cannot write {path}: it is a folder; name a file")
        if path.is_symlink() or (path.exists() and not path.is_file()):
            with open(path, "wb") as file:
                yield file
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_stale(path.parent)
        partial = unfinished(path)
        try:
            with open(partial, "xb") as file:
                yield file
                file.flush()
                if sync:
                    os.fsync(file.fileno())
            os.replace(partial, path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def append_lines(path: Path, lines: bytes) -> None:
    """Add lines at the end of a file, wholly or not at all; one that a power cut left unfinished is ended."""
    with told_as_one_sentence(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            if file.read(1) not in (b"", b"\n"):
                lines = b"\n" + lines
            try:
                if file.write(lines) != len(lines):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError:
                file.truncate(size)
                raise


def unfinished(path: Path, suffix: str = "") -> Path:
    """Where to write what is to become a file; the name tells who writes it. suffix : what it ends with."""
    # Not the tempfile module: its files are readable by their owner only, whatever the umask says.
    return path.parent / f".{_HOST}-{os.getpid()}-{secrets.token_hex(8)}.partial{suffix}"


@cache
def remove_stale(folder: Path) -> None:
    """Remove unfinished files of killed processes from a folder; once a process, as listing it takes time."""
    for partial in folder.glob(".*.partial*"):
        with suppress(OSError):  # another process was first, or the folder cannot be changed
            if _is_stale(partial):
                partial.unlink()


def is_unfinished(path: Path) -> bool:
    """Tell whether a file is named as one that is being written."""
    return _PARTIAL.fullmatch(path.name) is not None


def _is_stale(partial: Path) -> bool:
    """Whether the process that began to write a file is gone, as far as can be told from here."""
    found = _PARTIAL.fullmatch(partial.name)
    if found is None:
        return False
    if found["host"] != _HOST:
        return time.time() - partial.stat().st_mtime > STALE_SECONDS
    try:
        os.kill(int(found["process"]), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # it is somebody else's
        return False
    return False


@contextmanager
def told_as_one_sentence(path: Path) -> Iterator[None]:
    """Let an OSError of the block, which writes a file, say so in one sentence."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise ConfigError(f"cannot write {path}: {reason}; choose another place, or make room") from error
