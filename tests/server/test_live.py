import json
import socket as sockets
from contextlib import suppress

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from anyscene.server.config import Limits
from tests.server.conftest import TOKEN, wait_for


def live(server, query="", **options):
    return connect(f"ws://127.0.0.1:{server.port}/v1/live{query}", max_size=None, compression=None, **options)


def told(socket):
    """The next message, which is JSON."""
    return json.loads(socket.recv(timeout=60))


def labels_of(socket, frame):
    """Send a frame; what is told of it, and its labels."""
    socket.send(frame)
    said = told(socket)
    assert "error" not in said
    return said, socket.recv(timeout=60)


def test_frames_go_in_and_labels_come_out(server, photo):
    with live(server, "?budget=20s") as socket:
        for number in range(3):
            said, labels = labels_of(socket, photo)
            assert said["frame"] == number
            assert said["size"] == [120, 90]
            assert said["stages_ms"].keys() == {"queue", "decode", "label", "encode"}
            assert said["deadline_met"]
            assert labels[:4] == b"\x89PNG"


def test_a_stream_remembers_the_frames_before(server, photo):
    with live(server, "?budget=500ms&clock=labeling") as socket:
        said = [labels_of(socket, photo)[0] for _ in range(6)]
    assert said[0]["age_ms"] == 0
    assert any(one["age_ms"] > 0 for one in said)  # these were not looked at, and have labels


def test_until_is_not_for_streams(server):
    with live(server, "?until=0.5") as socket:
        assert "single pictures" in told(socket)["error"]


def test_a_frame_that_is_no_picture_is_told_and_the_stream_goes_on(server, photo):
    with live(server) as socket:
        socket.send(b"nothing")
        assert "error" in told(socket)
        labels_of(socket, photo)


def test_old_frames_give_way_to_the_latest(server, photo):
    with live(server) as socket:
        for _ in range(60):
            socket.send(photo)
        numbers = []
        while not numbers or numbers[-1] < 59:
            numbers.append(told(socket)["frame"])
            socket.recv(timeout=60)
    assert numbers == sorted(set(numbers))
    assert len(numbers) < 60


def test_a_wrong_wish_is_told(server):
    with live(server, "?model=other") as socket:
        assert "no model 'other'" in told(socket)["error"]
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=60)


def test_text_and_sudden_ends_harm_nobody(server, photo):
    before = server.metric("anyscene_live_streams")
    with live(server) as socket:
        socket.send("hello")
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=60)
    with live(server) as socket:
        socket.send(photo)
        socket.socket.shutdown(sockets.SHUT_RDWR)
    wait_for(lambda: server.metric("anyscene_live_streams") == before)


def test_a_frame_that_is_too_large_ends_its_stream(server, photo):
    with live(server) as socket:
        with suppress(ConnectionClosed):  # it may be closed while we are still sending
            socket.send(photo + bytes(Limits().frame_bytes))
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=60)


def test_streams_are_bounded(guarded, photo):
    def open_stream():
        return live(guarded, subprotocols=[f"anyscene.token.{TOKEN}"])

    wait_for(lambda: guarded.metric("anyscene_live_streams") == 0)
    with open_stream() as first, open_stream() as second:
        for socket in (first, second):
            labels_of(socket, photo)
        with open_stream() as third:
            assert told(third)["reason"] == "busy"
    wait_for(lambda: guarded.metric("anyscene_live_streams") == 0)
    with open_stream() as socket:
        assert labels_of(socket, photo)[0]["frame"] == 0
