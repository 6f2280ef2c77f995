"""More threads than cores: as many calls as cores work, the others wait, and all keep their deadlines."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from anyscene.engine.admission import Admission
from anyscene.engine.clock import Clock

MS = 1e-3


class Waiting:
    """A run that does nothing, with the clock of a real one."""

    def __init__(self, budget):
        self.clock = Clock(budget)
        self.shares = []

    @property
    def spare_ms(self):
        return self.clock.remaining()

    def leave_to_others(self, share):
        self.shares.append(share)


def test_no_more_work_at_once_than_there_are_places():
    admission, busy, most = Admission(2), [], []

    def work(_):
        with admission.admitted(Waiting(float("inf"))):
            busy.append(1)
            most.append(len(busy))
            time.sleep(5 * MS)
            busy.pop()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(24)))
    assert max(most) == 2


def test_a_call_that_gets_no_place_in_time_goes_on_with_nothing_left():
    admission, late = Admission(1), Waiting(20.0)
    with admission.admitted(Waiting(float("inf"))), admission.admitted(late):
        assert late.clock.elapsed() >= 15
        assert late.shares == [1.0]


def test_whoever_works_leaves_a_share_to_those_who_wait():
    admission, first, second = Admission(1), Waiting(1e4), Waiting(1e4)
    begun = threading.Event()

    def wait():
        begun.set()
        with admission.admitted(second):
            pass

    threads = [threading.Thread(target=wait) for _ in range(3)]
    with admission.admitted(first):
        for thread in threads:
            thread.start()
        begun.wait()
        while admission._waiting < 3:
            time.sleep(MS)
    for thread in threads:
        thread.join()
    assert first.shares == []  # nobody waited when it began
    assert max(second.shares) == pytest.approx(1 - 1 / 3)


def test_many_threads_give_what_one_gives_without_a_deadline(engine, streets):
    image = streets.split("val").image(0)
    alone = engine.label(image).labels
    with ThreadPoolExecutor(8) as pool:
        for labeling in pool.map(lambda _: engine.label(image), range(16)):
            np.testing.assert_array_equal(labeling.labels, alone)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_labels_while_threads_of_its_parent_did(engine, streets):
    image, stop = streets.split("val").image(0), threading.Event()

    def go_on():
        while not stop.is_set():
            engine.label(image, 5)

    threads = [threading.Thread(target=go_on) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                os._exit(0 if engine.label(image, 500).labels.shape == image.shape[:2] else 1)
            ends = time.monotonic() + 60
            while time.monotonic() < ends and not (ended := os.waitpid(child, os.WNOHANG))[0]:
                time.sleep(10 * MS)
            if not ended[0]:
                os.kill(child, 9)
                os.waitpid(child, 0)
            assert ended == (child, 0), "the child hung" if not ended[0] else ended
    finally:
        stop.set()
        for thread in threads:
            thread.join()
