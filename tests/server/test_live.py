import json
import socket as sockets
import time

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.server.conftest import wait_for


def live(server, query=""):
    return connect(f"ws://127.0.0.1:{server.port}/v1/live{query}", max_size=None, compression=None)


def test_frames_go_in_and_labels_come_out(server, photo):
    with live(server, "?budget=500ms") as socket:
        for number in range(3):
            socket.send(photo)
            told = json.loads(socket.recv())
            assert told["frame"] == number
            assert told["size"] == [120, 90]
            assert told["stages_ms"].keys() == {"queue", "decode", "label", "encode"}
            assert socket.recv()[:4] == b"\x89PNG"


def test_a_frame_that_is_no_picture_is_told_and_the_stream_goes_on(server, photo):
    with live(server) as socket:
        socket.send(b"nothing")
        assert "error" in json.loads(socket.recv())
        socket.send(photo)
        assert "error" not in json.loads(socket.recv())


def test_old_frames_give_way_to_the_latest(server, photo):
    with live(server) as socket:
        for _ in range(60):
            socket.send(photo)
        numbers = []
        while not numbers or numbers[-1] < 59:
            numbers.append(json.loads(socket.recv())["frame"])
            socket.recv()
    assert numbers == sorted(set(numbers))
    assert len(numbers) < 60


def test_a_wrong_wish_is_told(server):
    with live(server, "?model=other") as socket:
        assert "no model 'other'" in json.loads(socket.recv())["error"]
        with pytest.raises(ConnectionClosed):
            socket.recv()


def test_text_and_sudden_ends_harm_nobody(server, photo):
    before = server.metric("anyscene_live_streams")
    with live(server) as socket:
        socket.send("hello")
        with pytest.raises(ConnectionClosed):
            socket.recv()
    socket = live(server)
    socket.send(photo)
    socket.socket.shutdown(sockets.SHUT_RDWR)
    wait_for(lambda: server.metric("anyscene_live_streams") == before)


def test_streams_are_bounded(servers, model_file, photo):
    server = servers.start(models={"small": str(model_file)}, limits={"live": 2})
    opened = [live(server) for _ in range(2)]
    for socket in opened:
        socket.send(photo)
        socket.recv()
    with live(server) as socket:
        assert json.loads(socket.recv())["reason"] == "busy"
    for socket in opened:
        socket.close()
    time.sleep(0.2)
    with live(server) as socket:
        socket.send(photo)
        assert json.loads(socket.recv())["frame"] == 0
