"""Hold the libraries that start threads of their own to one, so that what is measured is one core's work."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import cv2
import numba
from threadpoolctl import threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold OpenCV, numba, BLAS, OpenMP and (if it is loaded) torch to one thread.

    ONNX Runtime's threads belong to a session: whoever makes a session asks it for one thread.
    """
    torch = sys.modules.get("torch")
    before = cv2.getNumThreads(), numba.get_num_threads(), torch.get_num_threads() if torch else 0
    cv2.setNumThreads(1)
    numba.set_num_threads(1)
    if torch:
        torch.set_num_threads(1)
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        cv2.setNumThreads(before[0])
        numba.set_num_threads(before[1])
        if torch:
            torch.set_num_threads(before[2])
