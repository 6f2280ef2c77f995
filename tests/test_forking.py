"""Locks that somebody held, and threads, are made anew in a forked child."""

import os
import time
from threading import Event, Lock, Thread

import pytest

from anyscene.features.hypercolumn.watchdog import Watchdog
from anyscene.forking import never_forked, renew_after_fork

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def in_child(check) -> bool:
    child = os.fork()
    if child == 0:
        os._exit(0 if check() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class Holder:
    def __init__(self):
        self._renew()
        renew_after_fork(self)

    def _renew(self):
        self.lock = Lock()


def test_a_lock_that_is_held_is_free_in_a_child():
    holder = Holder()
    with holder.lock:
        assert in_child(lambda: holder.lock.acquire(timeout=1))


def test_a_watchdog_watches_in_a_child():
    watchdog = Watchdog()
    with watchdog.watching(1e18):
        pass

    def ends_a_run():
        with watchdog.watching(0.0) as options:
            for _ in range(1000):
                if options.terminate:
                    return True
                time.sleep(0.001)
        return False

    assert in_child(ends_a_run)


def test_a_fork_waits_until_libraries_hold_no_lock():
    entered, left = Event(), Event()

    def work():
        with never_forked():
            entered.set()
            time.sleep(0.3)
            left.set()

    thread = Thread(target=work)
    thread.start()
    entered.wait()
    assert in_child(left.is_set)
    thread.join()
    assert can_pass()  # here and in children
    assert in_child(can_pass)


def can_pass():
    with never_forked():
        return True
