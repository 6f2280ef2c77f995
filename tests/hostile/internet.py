"""Processes without the internet: the kernel ends one that asks for it, and all that it has started."""

import ctypes
import platform
import struct
import sys

CALLS = {"x86_64": (41, 42), "aarch64": (198, 203)}
"""The kernel's numbers of the calls that make a socket and that connect one."""

CAN_BE_FORBIDDEN = sys.platform == "linux" and platform.machine() in CALLS

LOAD, SAME, AND, END = 0x20, 0x15, 0x54, 0x06
ALLOW, KILL = 0x7FFF0000, 0x80000000
FAMILY, KIND = 16, 24
"""Where the arguments of the call lie."""

IPV4, IPV6, DATAGRAM = 2, 10, 2


def forbid_internet() -> None:
    """Let the kernel end this process when it makes a socket of the internet."""
    make, _ = CALLS[platform.machine()]
    _install(
        (LOAD, 0, 0, 0),
        (SAME, 0, 3, make),
        (LOAD, 0, 0, FAMILY),
        (SAME, 2, 0, IPV4),
        (SAME, 1, 0, IPV6),
        (END, 0, 0, ALLOW),
        (END, 0, 0, KILL),
    )


def only_listen() -> None:
    """Let the kernel end this process when it connects to anything, or makes a socket to look names up by."""
    make, connect = CALLS[platform.machine()]
    _install(
        (LOAD, 0, 0, 0),
        (SAME, 8, 0, connect),
        (SAME, 0, 6, make),
        (LOAD, 0, 0, FAMILY),
        (SAME, 1, 0, IPV4),
        (SAME, 0, 3, IPV6),
        (LOAD, 0, 0, KIND),
        (AND, 0, 0, 15),
        (SAME, 1, 0, DATAGRAM),
        (END, 0, 0, ALLOW),
        (END, 0, 0, KILL),
    )


def _install(*program: tuple[int, int, int, int]) -> None:
    """Install a Berkeley packet filter. Its lines: code, jumps if true and if false, value."""
    rules = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *line) for line in program))
    libc = ctypes.CDLL(None, use_errno=True)

    class Filter(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("rules", ctypes.c_void_p))

    chosen = Filter(len(program), ctypes.addressof(rules))
    no_new_privileges, seccomp, by_filter = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(
        seccomp, by_filter, ctypes.byref(chosen), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "no seccomp")
