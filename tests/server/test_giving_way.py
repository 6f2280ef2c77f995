"""A request that can wait gives way to one that cannot, and is labelled afterwards."""

import math
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle

import httpx
import numpy as np
import pytest

import anyscene
from anyscene.server import wire
from anyscene.server.worker import _Worker
from tests.server.conftest import packed, wait_for


@pytest.fixture(scope="module")
def picture():
    """A picture that the shipped network takes tens of milliseconds for."""
    return packed(np.random.default_rng(0).integers(0, 256, (360, 480, 3), dtype=np.uint8))


@pytest.fixture(scope="module")
def worker():
    """A worker's inside with the shipped model, in this process; and the line by which it is told."""
    inside = _Worker({"camvid": anyscene.load("camvid")}, 10**7)
    ours, theirs = socket.socketpair()
    threading.Thread(target=inside.give_way, args=(theirs,), daemon=True).start()
    yield inside, ours
    ours.close()


def ask(inside, number, picture):
    head = {"id": number, "kind": "png", "model": "camvid", "answer": "ids", "until": None, "session": None}
    head |= {"finish_by": time.perf_counter() + 60, "label_ms": math.inf, "aim_ms": math.inf}
    return inside.serve(head, bytearray(picture), time.perf_counter())


def test_a_worker_gives_up_what_it_is_told_and_nothing_else(worker, picture):
    inside, line = worker
    assert "stages" in ask(inside, 1, picture)[0]
    for number, pause in ((2, 0.0), (3, 0.005), (4, 0.015)):  # before labeling, or while the network runs
        threading.Timer(pause, line.send, [wire.NUMBER.pack(number)]).start()
        if not pause:
            wait_for(lambda number=number: inside._gives_way == number)
        assert ask(inside, number, picture) == ({"gave_way": True}, b"")
        assert "stages" in ask(inside, number + 10, picture)[0]


def test_first_budgets_are_measured(worker):
    measured = {(stage, pixels): ms for stage, kind, pixels, ms in worker[0].warm_up() if kind == "camvid"}
    for pixels in {pixels for _, pixels in measured}:
        assert measured["first", pixels] < measured["look", pixels]


def test_a_request_that_can_wait_is_put_back_and_answered(server, scene, photo):
    large = packed(np.tile(scene, (12, 12, 1)))  # takes long enough that others come while it is decoded

    def label(data, budget):
        return httpx.post(f"{server.url}/v1/label?budget={budget}", content=data, timeout=60).status_code

    budgets = cycle((10, 20, 40, 60))
    pauses = cycle((0.005, 0.01, 0.02, 0.04, 0.08))  # how long the large one takes depends on the machine

    def one_gave_way():
        """Try again if the machine had other things to do."""
        with ThreadPoolExecutor(2) as pool:
            patient = pool.submit(label, large, "20s")
            time.sleep(next(pauses))
            urgent = pool.submit(label, photo, f"{next(budgets)}ms")
            assert patient.result() == 200
            assert urgent.result() in (200, 429)
        return server.metric("anyscene_put_back_total") > 0

    wait_for(one_gave_way)
