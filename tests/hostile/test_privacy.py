"""anyscene makes no network call: a process that asks for the internet is ended by the kernel."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.hostile.internet import CAN_BE_FORBIDDEN, forbid_internet, only_listen
from tests.hostile.trained import pictures

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not CAN_BE_FORBIDDEN, reason="needs seccomp of Linux")


def start(home: Path, forbid: Callable[[], None], *words: str) -> subprocess.Popen:
    """Start Python without the internet, and with a home of its own."""
    env = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    paths = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    command, pipe = [sys.executable, *words], subprocess.PIPE
    return subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, env=env | paths, cwd=home, preexec_fn=forbid
    )


LABEL = """
import time
from tests.hostile.victim import open_backbone, open_model
from tests.hostile.forge import BACKBONES, MODELS
open_model(MODELS / "camvid.anyscene")
open_backbone(BACKBONES / "camvid.backbone")  # as training does
time.sleep({seconds})
"""


@pytest.mark.parametrize("forbid", [forbid_internet, only_listen])
def test_a_look_up_would_be_noticed(tmp_path, forbid):
    process = start(tmp_path, forbid, "-c", "import socket; socket.getaddrinfo('example.org', 80)")
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGSYS


def test_labeling_looks_nothing_up_and_leaves_no_trace_of_the_device(tmp_path):
    process = start(tmp_path, forbid_internet, "-c", LABEL.format(seconds=3))
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    made = {path.name for path in tmp_path.rglob("*") if path.is_dir()}
    assert "Microsoft" not in made


def test_a_server_and_its_workers_look_nothing_up(tmp_path, model_file, engine):
    process = start(tmp_path, only_listen, *f"-m anyscene serve --port 0 --model {model_file}".split())
    try:
        url = process.stdout.readline().split()[2]
        for _ in range(3):
            answer = httpx.post(f"{url}/v1/label", content=pictures()["png"], timeout=60)
            assert answer.status_code == 200
    finally:
        process.terminate()
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
