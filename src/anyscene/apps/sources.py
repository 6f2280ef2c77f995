"""What `anyscene label` is given: files, folders, globs and videos, and where the results of each go."""

from __future__ import annotations

import glob
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from anyscene.errors import ConfigError
from anyscene.marks import is_ours

VIDEO_SUFFIXES = frozenset(
    {".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mpg", ".mpeg", ".wmv", ".flv", ".ts", ".mts"}
)


@dataclass(frozen=True)
class Source:
    """A file to label. target : where its results go, without a suffix."""

    path: Path
    target: Path

    @property
    def is_video(self) -> bool:
        """Whether it is named as a video."""
        return self.path.suffix.lower() in VIDEO_SUFFIXES


@dataclass(frozen=True)
class Found:
    """What some paths stand for.

    missing : paths and patterns that lead nowhere. passed_over : files in folders that are named neither as
    pictures nor as videos.
    """

    sources: tuple[Source, ...]
    missing: tuple[str, ...]
    passed_over: int


def find_sources(paths: Sequence[str], out: Path) -> Found:
    """Work out which files to label and where to: a folder keeps its name and structure inside `out`.

    Whatever lies in `out` already is a result, not a source.
    """
    from anyscene.data.images import IMAGE_SUFFIXES

    found: dict[Path, Path] = {}  # file -> result inside `out`, with the file's own suffix
    missing = []
    passed_over = 0
    for text in paths:
        for path in _expand(text):
            if path.is_dir():
                for file in _files_in(path, out):
                    if file.suffix.lower() in IMAGE_SUFFIXES | VIDEO_SUFFIXES:
                        found.setdefault(file, Path(path.resolve().name) / file.relative_to(path))
                    else:
                        passed_over += 1
            elif path.exists():
                found.setdefault(path, Path(path.name))
            else:
                missing.append(text)
        if not _expand(text):
            missing.append(text)
    return Found(_with_targets(found, out), tuple(missing), passed_over)


def listed_paths(listing: str) -> list[str]:
    """The paths in a file (-: stdin), one a line, or with NUL between them as `find -print0` writes them."""
    try:
        # Bytes, since reading text would change carriage returns in names.
        text = os.fsdecode(sys.stdin.buffer.read() if listing == "-" else Path(listing).read_bytes())
    except OSError as error:
        raise ConfigError(
            f"cannot read the list {listing}: {error.strerror}; name a file of paths"
        ) from error
    lines = text.split("\0") if "\0" in text else text.splitlines()
    return [line for line in lines if line.strip()]


def _expand(text: str) -> list[Path]:
    path = Path(text).expanduser()
    if path.exists() or not glob.has_magic(text):
        return [path]
    return [Path(match) for match in sorted(glob.glob(str(path), recursive=True))]


def _files_in(folder: Path, out: Path) -> Iterator[Path]:
    """All files below a folder in a fixed order, but hidden ones and results."""
    results = out.resolve()
    # Results of an earlier run may lie among the sources, where the folder itself is inside `out`.
    mixed = folder.resolve().is_relative_to(results)
    for parent, folders, files in os.walk(folder):
        inside = Path(parent)
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and (inside / name).resolve() != results
        )
        for name in sorted(files):
            if not name.startswith(".") and not (mixed and is_ours(inside / name)):
                yield inside / name


def _with_targets(found: dict[Path, Path], out: Path) -> tuple[Source, ...]:
    """Drop suffixes, but where that would make two results one."""
    stems = Counter(place.with_suffix("") for place in found.values())
    wholes = Counter(found.values())
    sources = []
    for path, place in found.items():
        if wholes[place] > 1:
            clashing = " and ".join(str(other) for other, its in found.items() if its == place)
            raise ConfigError(
                f"the results of {clashing} would have the same name in {out}; label them into two folders"
            )
        stem = place.with_suffix("")
        sources.append(Source(path, out / (stem if stems[stem] == 1 else place)))
    return tuple(sources)
