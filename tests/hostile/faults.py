"""A disk that fails at the n-th write, sync or rename of files that anyscene writes atomically."""

import builtins
import errno
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager

from anyscene import files


class Disk:
    """Counts what is done to files; one of these, by number, fails."""

    def __init__(self, fails_at: int) -> None:
        self.count = 0
        self._fails_at = fails_at

    def act(self) -> None:
        """Count one action; fail if it is its turn."""
        self.count += 1
        if self.count == self._fails_at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class _File(io.FileIO):
    disk: Disk

    def write(self, data):
        self.disk.act()
        return super().write(data)


@contextmanager
def failing_disk(fails_at: int) -> Iterator[Disk]:
    """Let the n-th write, sync or rename of the block fail, as a full disk does; 0: none."""
    disk, replace, sync = Disk(fails_at), os.replace, os.fsync

    def failing_open(path, mode="r", *rest, **named):
        if "x" not in mode:
            return builtins.open(path, mode, *rest, **named)
        disk.act()
        file = _File(path, mode.replace("b", ""))
        file.disk = disk
        return file

    def failing_replace(source, target, **named):
        disk.act()
        return replace(source, target, **named)

    def failing_sync(number):
        disk.act()
        return sync(number)

    files.open, os.replace, os.fsync = failing_open, failing_replace, failing_sync
    try:
        yield disk
    finally:
        del files.open
        os.replace, os.fsync = replace, sync
