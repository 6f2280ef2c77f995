"""Short turns on the processor for the listening process, so that busy workers do not hold it up."""

from __future__ import annotations

import ctypes
import os
import platform
import sys

CALLS = {"x86_64": 314, "aarch64": 274}
"""The number of the system call `sched_setattr`, which Python does not offer, by processor."""

TURN_NS = 300_000
"""A turn of the listening process; the kernel's usual one is some milliseconds, as long as a short budget."""

RESET_ON_FORK = 1
"""Children, workers among them, take usual turns."""


class _Attributes(ctypes.Structure):
    """The kernel's `struct sched_attr`."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    )


def take_short_turns() -> bool:
    """Ask the kernel for short turns, which interrupt longer ones (Linux 6.12 and later).

    Tell whether it agreed. Where it does not, labels are as right, but a server with fewer cores than
    processes answers less promptly.
    """
    call = CALLS.get(platform.machine())
    if sys.platform != "linux" or call is None or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return False
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    attributes = _Attributes(
        ctypes.sizeof(_Attributes), os.SCHED_OTHER, RESET_ON_FORK, nice, 0, TURN_NS, 0, 0
    )
    return bool(ctypes.CDLL(None).syscall(call, 0, ctypes.byref(attributes), 0) == 0)
