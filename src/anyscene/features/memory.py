"""Keeping freed memory, so that maps are not paid for twice."""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _MOST_MMAPS = -1, -4
_KEPT = 256 * 2**20


def keep_freed_memory() -> bool:
    """Ask glibc to keep up to 256 MB of freed memory instead of giving it back; tell whether it obeyed.

    Maps come and go with every image. If they were given back each time, the kernel would zero their pages
    again, which takes long for large images and varies. It is a setting of the whole process, so commands and
    engines make it, never an import.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return False
    return bool(mallopt(_MOST_MMAPS, 0) and mallopt(_TRIM_THRESHOLD, _KEPT))
