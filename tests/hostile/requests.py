"""Requests that no client of ours would send, to a real server."""

import json
import re
import socket
import time
from pathlib import Path

import httpx
import numpy as np

from tests.hostile.mutators import change_document, damaged_file
from tests.hostile.trained import pictures
from tests.hostile.wards import MOST_MEMORY, parents_of_all, peak_of
from tests.server.conftest import Server, Servers

LIMITS = {"header_seconds": 0.3, "body_seconds": 0.5, "pixels": 4_000_000, "body_bytes": 2**21}
ANSWER_SECONDS = 20.0

ODD_TEXTS = (
    "",
    "nan",
    "-1",
    "1e999",
    "20",
    "0ms",
    "\u202e",
    "x" * 5000,
    "../../etc/passwd",
    "1;drop",
    "%00",
    "[]",
)
PATHS = (
    "/v1/label",
    "/v1/models",
    "/v2/models/small/infer",
    "/v2/models/small",
    "/metrics",
    "/",
    "/v1/live",
    "/x",
)
METHODS = ("POST", "GET", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "\x00")
QUERIES = ("budget", "model", "until", "priority", "clock", "format", "odd")
HEADERS = (
    *(
        "host",
        "origin",
        "content-length",
        "content-type",
        "transfer-encoding",
        "accept",
        "connection",
        "upgrade",
    ),
    *("inference-header-content-length", "content-encoding", "expect", "authorization", "grpc-timeout"),
)


class Prey:
    """A server that is attacked; it is started with the first case, and asked something good after each."""

    def __init__(self, model: Path) -> None:
        self._model = model
        self._servers = Servers()
        self._server: Server | None = None
        self._right = b""
        # One client, as each reads all certificates; a new connection for each request, as strangers have.
        self._client = httpx.Client(timeout=30, limits=httpx.Limits(max_keepalive_connections=0))

    def attack(self, random: np.random.Generator, number: int) -> dict:
        """Send one odd request; what came of it."""
        if self._server is None:
            self._server = self._servers.start(models={"small": str(self._model)}, limits=LIMITS)
            self._right = self._good()
        workers = self._server.workers()
        sent = odd_request(random, number)
        begun = time.monotonic()
        answer = self._send(sent)
        found = {"verdict": _verdict(answer), "text": repr(sent[:150] + b" ... " + answer[:150])}
        if time.monotonic() - begun > ANSWER_SECONDS:
            found["verdict"] = "hang"
        if self._good() != self._right or self._server.workers() != workers:
            found["verdict"] = "crash"
            self.close()
        elif self._peak() > MOST_MEMORY:
            found["verdict"] = "memory"
        return found

    def close(self) -> None:
        """End the server."""
        self._servers.stop_all()
        self._server = None

    def _good(self) -> bytes:
        try:
            answer = self._client.post(f"{self._server.url}/v1/label", content=pictures()["png"])
        except httpx.HTTPError:
            return b""
        return answer.content if answer.status_code == 200 else b""

    def _send(self, data: bytes) -> bytes:
        """Send bytes as they are, and read until the answer is whole or the server closes."""
        found = b""
        with socket.create_connection(("127.0.0.1", self._server.port), ANSWER_SECONDS) as opened:
            opened.settimeout(ANSWER_SECONDS + 5)
            try:
                opened.sendall(data)
                while not _is_whole(found, data) and (chunk := opened.recv(65536)):
                    found += chunk
            except ConnectionError:
                pass  # it need not listen to the end
            except TimeoutError:
                return b"HTTP/1.1 000 hang"
        return found

    def _peak(self) -> int:
        parents, own = parents_of_all(), [self._server.process.pid]
        for process in own:
            own += [child for child, parent in parents.items() if parent == process]
        return sum(map(peak_of, own))


def _is_whole(answer: bytes, sent: bytes) -> bool:
    """Tell whether an answer has come to its end; the server may keep the connection for the next request."""
    head, _, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"\r\ncontent-length: (\d+)", head, re.IGNORECASE)
    return length is not None and (sent.startswith(b"HEAD") or len(body) >= int(length[1]))


def _verdict(answer: bytes) -> str:
    """What the first answer says: defects of ours are answered with 500."""
    status = answer[9:12]
    if status == b"000":
        return "hang"
    if status.startswith(b"5") and status != b"503":  # 503: too much is asked at once
        return "traceback"
    return "equal" if status.startswith(b"2") else "refused"


def odd_request(random: np.random.Generator, number: int) -> bytes:
    """The bytes of a request: whole but odd, or damaged."""

    def pick(things):
        return things[int(random.integers(len(things)))]

    is_inference = number % 3 == 0
    body = _inference(random) if is_inference else pick(list(pictures().values()))
    if random.random() < 0.5:
        body = damaged_file(body, random)
    path = "/v2/models/small/infer" if is_inference else "/v1/label"
    method = "POST"
    if random.random() < 0.2:
        path = pick(PATHS)
    if random.random() < 0.1:
        method = pick(METHODS)
    query = "&".join(f"{pick(QUERIES)}={pick(ODD_TEXTS)}" for _ in range(int(random.integers(3))))
    headers = {"host": "localhost", "connection": "close", "content-length": str(len(body))}
    if random.random() < 0.3:
        boundary = b"--b\r\ncontent-disposition: form-data; name=image\r\n\r\n"
        body = boundary + body + (b"\r\n--b--\r\n" if random.random() < 0.5 else b"")
        headers |= {"content-type": "multipart/form-data; boundary=b", "content-length": str(len(body))}
    if random.random() < 0.4:
        headers[pick(HEADERS)] = pick(
            (*ODD_TEXTS, "0", str(2**63), "chunked", "gzip", "websocket", "100-continue")
        )
    lines = [f"{method} {path}?{query} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    head = "\r\n".join(lines).encode(errors="replace") + b"\r\n\r\n"
    if random.random() < 0.2:
        head = damaged_file(head, random)
    return head + body


def _inference(random: np.random.Generator) -> bytes:
    """An inference request of the open protocol, with some values changed."""
    document = {
        "id": "1",
        "inputs": [{"name": "image", "datatype": "UINT8", "shape": [2, 2, 3], "data": [0] * 12}],
        "outputs": [{"name": "labels", "parameters": {"binary_data": False}}],
        "parameters": {"timeout": 20000, "priority": 1},
    }
    for _ in range(int(random.integers(4))):
        change_document(document, random)
    return json.dumps(document).encode()
