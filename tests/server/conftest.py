"""Real servers on loopback, each a process of its own."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import httpx
import pytest
from PIL import Image

PROGRAM = """
import json, sys
from pathlib import Path
from anyscene.server import config, running
given = json.loads(sys.argv[1])
given["models"] = {name: Path(path) for name, path in given["models"].items()}
given["limits"] = config.Limits(**given.pop("limits", {}))
for name in ("hosts", "origins"):
    given[name] = tuple(given.get(name, ()))
for name in ("certfile", "keyfile"):
    given[name] = Path(given[name]) if name in given else None
running.run(config.Settings(**given), lambda address: print("listening on", address, flush=True))
"""


TOKEN = "a-token-that-is-long-enough"
PATIENT = {"patience_ms": 60_000}
"""Limits for a machine that is busy with other things: requests without a deadline are not refused."""


@dataclass
class Server:
    """A server that runs. url : where it listens."""

    process: subprocess.Popen
    url: str

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    def workers(self) -> list[int]:
        """The process numbers of its workers: those that have loaded a model, and not Python's helper."""
        children = []
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    stat = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()
                    command = Path(f"/proc/{entry}/cmdline").read_bytes()  # names need not be UTF-8
                except OSError:
                    continue
                if int(stat[1]) == self.process.pid and b"resource_tracker" not in command and stat[0] != "Z":
                    children.append(int(entry))
        return children

    def metric(self, name: str) -> float:
        """The sum of a counter over its labels."""
        text = httpx.get(
            f"{self.url}/metrics", headers={"authorization": f"Bearer {TOKEN}"}, verify=False, timeout=30
        ).text
        return sum(float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE))


class Servers:
    """Starts servers, and ends them with the tests."""

    def __init__(self) -> None:
        self._running: list[Server] = []

    def start(self, **settings) -> Server:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, json.dumps({"port": 0, **settings})],
            stdout=subprocess.PIPE,
            text=True,
        )
        line = process.stdout.readline()
        assert line.startswith("listening on"), f"the server did not start: {line}"
        threading.Thread(target=process.stdout.read, daemon=True).start()
        server = Server(process, line.split()[-1])
        self._running.append(server)
        return server

    def stop(self, server: Server) -> int:
        server.process.send_signal(signal.SIGTERM)
        return server.process.wait(60)

    def stop_all(self) -> None:
        for server in self._running:
            if server.process.poll() is None:
                server.process.kill()
                server.process.wait(10)


@pytest.fixture(scope="session")
def servers():
    """Something that starts servers; all of them end with the tests."""
    started = Servers()
    yield started
    started.stop_all()


@pytest.fixture(scope="session")
def server(servers, model_file):
    """A server with the small model and one worker; short limits for slow clients."""
    limits = {"header_seconds": 2.0, "body_seconds": 2.0, "send_seconds": 2.0, "pixels": 4_000_000}
    limits["body_bytes"] = 2**22
    return servers.start(models={"small": str(model_file)}, limits={**PATIENT, **limits})


@pytest.fixture(scope="module")
def nobody_else():
    """Budgets are shared with those who came within the last two seconds."""
    time.sleep(2.5)


@pytest.fixture(scope="session")
def guarded(servers, model_file):
    """A server with a token, a proxy's name, a foreign site that may use it, and few connections."""
    return servers.start(
        models={"small": str(model_file)},
        token=TOKEN,
        origins=["https://friend.example"],
        hosts=["proxy.example"],
        limits={**PATIENT, "live": 2, "connections": 40},
    )


def packed(image, kind="PNG", **options) -> bytes:
    """A picture as the bytes of a file."""
    file = BytesIO()
    Image.fromarray(image).save(file, kind, **options)
    return file.getvalue()


@pytest.fixture(scope="session")
def scene(streets):
    """A generated street scene, uint8[90, 120, 3]."""
    return streets.split("val").image(0)


@pytest.fixture(scope="session")
def photo(scene):
    """The same as the bytes of a PNG."""
    return packed(scene)


def wait_for(condition, seconds=60.0):
    """Wait until something holds."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.05)
