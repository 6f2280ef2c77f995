"""anyscene makes no network call: a process that opens an internet socket is ended by the kernel."""

import ctypes
import os
import platform
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOCKET = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
"""The kernel's name of a machine, and its number of the call that makes a socket."""

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in SOCKET, reason="needs seccomp of Linux"
)


def forbid_internet() -> None:
    """Let the kernel end this process, and those it becomes, when it makes a socket of the internet."""
    _, call = SOCKET[platform.machine()]
    # Berkeley packet filter: code, jumps if true and if false, value. Loads the call, then an argument.
    program = [
        (0x20, 0, 0, 0),
        (0x15, 0, 3, call),
        (0x20, 0, 0, 16),
        (0x15, 2, 0, 2),  # IPv4
        (0x15, 1, 0, 10),  # IPv6
        (0x06, 0, 0, 0x7FFF0000),  # allow
        (0x06, 0, 0, 0x80000000),  # end the process
    ]
    code = b"".join(struct.pack("<HBBI", *line) for line in program)
    rules = ctypes.create_string_buffer(code)
    libc = ctypes.CDLL(None, use_errno=True)

    class Filter(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("rules", ctypes.c_void_p))

    chosen = Filter(len(program), ctypes.addressof(rules))
    no_new_privileges, seccomp, by_filter = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(
        seccomp, by_filter, ctypes.byref(chosen), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "no seccomp")


def run(program: str, home: Path, **settings: str) -> subprocess.CompletedProcess:
    """Run a program of Python without the internet, and with a home of its own."""
    env = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    paths = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=env | paths | settings,
        cwd=home,
        preexec_fn=forbid_internet,
        timeout=300,
    )


LABEL = """
import time
from tests.hostile.victim import open_backbone, open_model
from tests.hostile.forge import BACKBONES, MODELS
open_model(MODELS / "camvid.anyscene")
open_backbone(BACKBONES / "camvid.backbone")  # as training does
time.sleep({seconds})
"""


def test_a_look_up_would_be_noticed(tmp_path):
    found = run("import socket; socket.getaddrinfo('example.org', 80)", tmp_path)
    assert found.returncode == -signal.SIGSYS


def test_labeling_looks_nothing_up_and_leaves_no_trace_of_the_device(tmp_path):
    found = run(LABEL.format(seconds=3), tmp_path)
    assert found.returncode == 0, found.stderr
    made = {path.name for path in tmp_path.rglob("*") if path.is_dir()}
    assert "Microsoft" not in made
