import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest

from tests.server.conftest import PATIENT, packed, wait_for


@pytest.fixture(scope="module")
def large(scene):
    """A picture that takes a worker a while."""
    return packed(np.tile(scene, (14, 14, 1)), "PNG")


def ask(server, data, query=""):
    return httpx.post(f"{server.url}/v1/label{query}", content=data, timeout=60)


def test_a_killed_worker_gives_503_and_is_replaced(servers, model_file, photo, large):
    server = servers.start(models={"small": str(model_file)}, workers=2, limits=PATIENT)
    first = server.workers()
    assert len(first) == 2
    with ThreadPoolExecutor(8) as pool:
        pending = [pool.submit(ask, server, large) for _ in range(8)]
        wait_for(lambda: server.metric("anyscene_queue_length") > 0)  # both workers are busy
        os.kill(first[0], signal.SIGKILL)
        statuses = [one.result().status_code for one in pending]
    assert statuses.count(503) == 1  # the others are served by the worker that is left
    assert statuses.count(200) == 7
    assert ask(server, photo).status_code == 200
    wait_for(lambda: server.metric("anyscene_workers") == 2)  # `bench server` times it
    assert server.metric("anyscene_worker_restarts_total") >= 1
    assert len(set(server.workers()) - set(first)) == 1


def test_without_any_worker_requests_get_503_until_there_is_one(servers, model_file, photo):
    server = servers.start(models={"small": str(model_file)}, limits={"job_seconds": 0.5})
    (worker,) = server.workers()
    os.kill(worker, signal.SIGSTOP)  # it hangs, and is replaced
    begun = time.monotonic()
    assert ask(server, photo, "?budget=2s").status_code == 503
    assert time.monotonic() - begun < 9  # sooner than with the usual limit
    wait_for(lambda: server.metric("anyscene_workers") == 0)
    answer = ask(server, photo)
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0
    assert httpx.get(f"{server.url}/readyz").status_code == 503
    assert httpx.get(f"{server.url}/healthz").status_code == 200
    wait_for(lambda: httpx.get(f"{server.url}/readyz").status_code == 200)
    assert server.workers() != [worker]
    assert ask(server, photo).status_code == 200
    # And when the whole server is killed, its workers end as well.
    workers = server.workers()
    server.process.kill()
    server.process.wait(10)
    wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in workers))


def test_sigterm_finishes_what_was_taken(servers, model_file, large):
    server = servers.start(models={"small": str(model_file)}, limits=PATIENT)
    pending = []

    def two_wait():
        """One is served, the others wait; all are asked again if they were done before anybody looked."""
        if all(one.done() for one in pending):
            pending[:] = [pool.submit(ask, server, large) for _ in range(3)]
        return server.metric("anyscene_queue_length") >= 2

    with ThreadPoolExecutor(3) as pool:
        wait_for(two_wait)
        assert servers.stop(server) == 0
        assert [one.result().status_code for one in pending] == [200] * 3
    with pytest.raises(httpx.ConnectError):
        ask(server, large)


def test_a_taken_port_is_told_before_models_are_loaded(server, model_file):
    command = [
        sys.executable,
        "-m",
        "anyscene",
        "serve",
        "--model",
        str(model_file),
        "--port",
        str(server.port),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "choose another --port" in done.stderr


def test_a_model_that_cannot_be_loaded_is_told(tmp_path):
    damaged = tmp_path / "damaged.anyscene"
    damaged.write_bytes(b"nothing of use")
    command = [sys.executable, "-m", "anyscene", "serve", "--model", str(damaged), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "damaged.anyscene" in done.stderr
