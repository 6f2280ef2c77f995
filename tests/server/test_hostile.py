"""Requests that mean harm, or only happen: each costs itself and nobody else."""

import contextlib
import json
import os
import re
import signal
import socket
import struct
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.server.conftest import PATIENT, packed, wait_for


def ask(server, data, query="", **options):
    return httpx.post(f"{server.url}/v1/label{query}", content=data, timeout=30, **options)


@pytest.fixture(autouse=True)
def _others_are_served(server, photo):
    """After each of these tests the same worker answers as before."""
    workers = server.workers()
    yield
    assert ask(server, photo).status_code == 200
    assert server.workers() == workers


def raw(server, data: bytes, wait=0.0) -> bytes:
    """Send bytes as they are and read until the server closes."""
    with socket.create_connection(("127.0.0.1", server.port), 10) as opened:
        opened.sendall(data)
        time.sleep(wait)
        opened.settimeout(10)
        found = b""
        while chunk := opened.recv(65536):
            found += chunk
            if b"\r\n\r\n" in found:
                break
        return found


def png_bomb(width, height):
    """A small file that claims to be a huge picture."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(10**6))) + chunk(b"IEND", b"")


@pytest.mark.parametrize("size", [(60_000, 60_000), (2**31 - 1, 2**31 - 1), (1, 5_000_000)])
def test_a_bomb_is_refused_by_its_header(server, size):
    begun = time.monotonic()
    assert ask(server, png_bomb(*size)).status_code == 413
    assert time.monotonic() - begun < 10  # decoding it would take minutes


def test_a_header_that_lies_to_the_sniffer_is_caught_by_the_decoder(server, scene):
    data = bytearray(packed(scene, "BMP"))
    data[18:22] = struct.pack("<i", 100)  # fewer pixels than its rows hold
    assert ask(server, bytes(data)).status_code in (200, 400)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
@pytest.mark.parametrize("part", [0.1, 0.5, 0.95])
def test_truncated_pictures_are_told(server, kind, part):
    noise = np.random.default_rng(0).integers(0, 256, (90, 120, 3), dtype=np.uint8)
    data = packed(noise, kind)
    answer = ask(server, data[: int(part * len(data))])
    assert answer.status_code in (400, 415)
    assert "error" in answer.json()


@pytest.mark.parametrize("seed", range(8))
def test_damaged_pictures_get_labels_or_a_sentence(server, scene, seed):
    random = np.random.default_rng(seed)
    data = bytearray(packed(scene, ("PNG", "JPEG", "WEBP", "GIF")[seed % 4]))
    for place in random.integers(20, len(data), 10):
        data[place] = random.integers(256)
    assert ask(server, bytes(data)).status_code in (200, 400, 413, 415)


def test_a_body_that_is_announced_too_large_is_not_read(server):
    head = b"POST /v1/label HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n"
    assert b" 413 " in raw(server, head)


def test_a_body_that_grows_too_large_is_cut_off(server):
    def endless():
        for _ in range(100):
            yield bytes(100_000)

    with contextlib.suppress(httpx.TransportError):  # closed while we were still sending is fine as well
        assert ask(server, endless()).status_code == 413


def test_a_slow_body_has_a_limit_of_its_own(server):
    head = b"POST /v1/label HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nabc"
    begun = time.monotonic()
    assert b" 408 " in raw(server, head)
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("start", [b"", b"POST /v1/lab", b"GET / HTTP/1.1\r\nHost: loc"])
def test_a_head_that_never_ends_is_cut_off(server, start):
    begun = time.monotonic()
    with contextlib.suppress(ConnectionError):
        assert raw(server, start) == b""
    assert time.monotonic() - begun < 10


def test_a_head_without_end_is_cut_off(server):
    with contextlib.suppress(ConnectionError):
        assert b" 400 " in raw(server, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 200_000)


@pytest.mark.parametrize(
    "data",
    [
        b"\x00" * 100 + b"\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        b"POST /v1/label HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST /v1/label HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_no_http_is_refused(server, data):
    found = raw(server, data)
    assert found == b"" or found.split(b" ")[1] in (b"400", b"421")


def test_clients_that_leave_cost_nothing(server, photo):
    head = f"POST /v1/label HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(photo)}\r\n\r\n".encode()
    for cut in (0, len(photo) // 2, len(photo)):
        for _ in range(10):
            with socket.create_connection(("127.0.0.1", server.port), 10) as opened:
                opened.sendall(head + photo[:cut])
    wait_for(lambda: server.metric("anyscene_queue_length") == 0)


def test_connections_are_bounded_and_who_comes_later_is_told(guarded):
    with contextlib.ExitStack() as stack:
        for _ in range(45):
            stack.enter_context(socket.create_connection(("127.0.0.1", guarded.port), 10))
        late = stack.enter_context(socket.create_connection(("127.0.0.1", guarded.port), 10))
        late.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        late.settimeout(30)
        found = b""
        while chunk := late.recv(65536):
            found += chunk
            if b"busy" in found:
                break
        assert b" 503 " in found
        assert b"too many connections" in found
    wait_for(lambda: httpx.get(f"{guarded.url}/healthz", timeout=30).status_code == 200)


def test_slow_senders_do_not_hold_up_others(server, photo):
    stop = threading.Event()
    head = b"POST /v1/label HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"

    def drip():
        with socket.create_connection(("127.0.0.1", server.port), 10) as opened:
            opened.sendall(head)
            while not stop.wait(0.05):
                try:
                    opened.sendall(b"x")
                except OSError:
                    return

    threads = [threading.Thread(target=drip) for _ in range(20)]
    for thread in threads:
        thread.start()
    try:
        answers = [ask(server, photo, "?budget=20s") for _ in range(5)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert [answer.status_code for answer in answers] == [200] * 5


@pytest.fixture
def noise():
    """A picture whose overlay is larger than what the kernel keeps for a client."""
    return packed(np.random.default_rng(0).integers(0, 256, (1500, 2000, 3), dtype=np.uint8), "JPEG")


def idle_reader(server, connection: bytes, picture):
    """Ask for an answer of many megabytes over a connection that takes few bytes at a time."""
    opened = socket.socket()
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    opened.connect(("127.0.0.1", server.port))
    head = b"POST /v1/label?format=overlay HTTP/1.1\r\nHost: localhost\r\n" + connection
    opened.sendall(head + b"Content-Length: %d\r\n\r\n" % len(picture) + picture)
    return opened


@pytest.mark.parametrize("connection", [b"", b"Connection: close\r\n"])
def test_a_client_that_takes_no_answer_is_cut_off(server, noise, connection):
    with idle_reader(server, connection, noise) as opened:
        opened.settimeout(60)
        begun = opened.recv(2000, socket.MSG_WAITALL)
        assert b" 200 " in begun
        whole = int(re.search(rb"content-length: (\d+)", begun)[1])
        time.sleep(4)  # twice as long as it may take
        taken = len(begun)
        with contextlib.suppress(ConnectionError):
            while chunk := opened.recv(2**20):
                taken += len(chunk)
    assert taken < whole


def test_a_stream_that_takes_no_labels_is_cut_off(server, scene):
    before = server.metric("anyscene_live_streams")
    frame = packed(np.tile(scene, (10, 10, 1)), "JPEG")
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.connect(("127.0.0.1", server.port))
    uri = f"ws://127.0.0.1:{server.port}/v1/live?format=overlay"
    with connect(uri, sock=line, max_size=None, max_queue=1, compression=None, ping_interval=None) as stream:

        def send_for_ever():
            with contextlib.suppress(ConnectionClosed, OSError):
                while True:
                    stream.send(frame)

        try:
            wait_for(lambda: server.metric("anyscene_live_streams") == before + 1)
            threading.Thread(target=send_for_ever, daemon=True).start()
            wait_for(lambda: server.metric("anyscene_live_streams") == before)
        finally:
            with contextlib.suppress(OSError):  # the server has closed it
                line.shutdown(socket.SHUT_RDWR)


def test_bodies_in_hand_are_bounded_in_bytes(servers, model_file, photo):
    limits = {**PATIENT, "job_seconds": 60.0, "queue_bytes": len(photo) + 1000}
    crowded = servers.start(models={"small": str(model_file)}, limits=limits)
    (worker,) = crowded.workers()
    os.kill(worker, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as others:
        try:
            first = others.submit(ask, crowded, photo)
            wait_for(lambda: crowded.metric("anyscene_queue_bytes") == len(photo))
            refused = ask(crowded, photo)
            with connect(f"ws://127.0.0.1:{crowded.port}/v1/live") as stream:
                stream.send(photo)
                told = json.loads(stream.recv(timeout=60))
        finally:
            os.kill(worker, signal.SIGCONT)
        assert refused.status_code == 429
        assert "too many large requests" in refused.json()["error"] == told["error"]
        assert first.result().status_code == 200
    assert crowded.metric("anyscene_queue_bytes") == 0


def test_compressed_bodies_are_refused(server, photo):
    assert ask(server, photo, headers={"content-encoding": "gzip"}).status_code == 415
