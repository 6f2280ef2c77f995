"""A disk that fails at the n-th write, sync or rename, whoever asks for it."""

import builtins
import errno
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Disk:
    """Counts what is done to files below a folder; one of these, by number, fails."""

    def __init__(self, fails_at: int, folder: Path) -> None:
        self.count = 0
        self._fails_at = fails_at
        self._folder = os.path.abspath(folder) + os.sep

    def holds(self, path: object) -> bool:
        """Tell whether a path is below the folder."""
        return isinstance(path, str | os.PathLike) and os.path.abspath(path).startswith(self._folder)

    def act(self, path: object) -> None:
        """Count one action on a path; fail if it is its turn."""
        if not self.holds(path):
            return
        self.count += 1
        if self.count == self._fails_at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class _File(io.FileIO):
    """A file without a buffer, half of whose failing write still reaches the disk."""

    disk: Disk

    def write(self, data):
        try:
            self.disk.act(self.name)
        except OSError:
            super().write(memoryview(data).cast("B")[: len(data) // 2])
            raise
        return super().write(data)


@contextmanager
def failing_disk(fails_at: int, folder: Path) -> Iterator[Disk]:
    """Let the n-th write, sync or rename below a folder fail, as a full disk does; 0: none.

    All ways in which Python writes files pass here: `open`, `Path.open` and what builds on them.
    """
    disk = Disk(fails_at, folder)
    real = {name: getattr(os, name) for name in ("replace", "rename", "fsync", "mkdir")}
    real_open, paths = builtins.open, {}

    def failing_open(path, mode="r", *rest, **named):
        if not disk.holds(path) or set(mode) <= set("rbt") or "b" not in mode or "opener" in named:
            return real_open(path, mode, *rest, **named)
        disk.act(path)
        file = _File(path, mode.replace("b", ""))
        file.disk = disk
        paths[file.fileno()] = path
        return file

    def failing(name, *arguments, **named):
        path = paths.get(arguments[0], "") if name == "fsync" else arguments[-1]
        disk.act(arguments[0] if name == "mkdir" else path)
        return real[name](*arguments, **named)

    builtins.open = io.open = failing_open
    for name in real:
        setattr(os, name, lambda *arguments, _name=name, **named: failing(_name, *arguments, **named))
    try:
        yield disk
    finally:
        builtins.open = io.open = real_open
        for name, function in real.items():
            setattr(os, name, function)
