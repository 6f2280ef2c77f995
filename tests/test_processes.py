"""Work shared among processes: results, errors, and processes that die."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from anyscene.errors import DataError
from anyscene.processes import Died, run_in_processes


def double(number):
    return 2 * number


def fail(number):
    raise DataError(f"{number} is a bad number")


def die_at_three(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_every_item_comes_back_with_its_result():
    assert dict(run_in_processes(double, range(7), 2)) == {number: 2 * number for number in range(7)}


def test_more_processes_than_items_and_none_at_all():
    assert list(run_in_processes(double, [5], 3)) == [(5, 10)]
    assert list(run_in_processes(double, [], 2)) == []


def test_what_the_work_raises_is_raised_here():
    with pytest.raises(DataError, match="4 is a bad number"):
        list(run_in_processes(fail, [4], 1))


def test_a_process_that_dies_costs_its_own_item_only():
    results = dict(run_in_processes(die_at_three, range(6), 2))
    assert isinstance(results.pop(3), Died)
    assert results == {number: number for number in range(6) if number != 3}


SLOW_TO_START = """
import os, sys, time
from pathlib import Path
from anyscene.processes import run_in_processes

def import_for_long(place):
    Path(place).write_text(str(os.getpid()))
    time.sleep(60)

class Work:
    def __reduce__(self):
        return import_for_long, (sys.argv[1],)

    def __call__(self, item):
        return item

if __name__ == "__main__":
    list(run_in_processes(Work(), [1], 1))
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_a_process_that_still_starts_ends_with_its_parent(tmp_path):
    script, place = tmp_path / "script.py", tmp_path / "process"
    script.write_text(SLOW_TO_START)
    parent = subprocess.Popen([sys.executable, script, place])
    wait_until(lambda: place.exists() and place.read_text())
    parent.kill()
    parent.wait()
    wait_until(lambda: not Path(f"/proc/{place.read_text()}/cmdline").exists(), 5)


def wait_until(happened, seconds=60):
    last = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < last, "it never came to that"
        time.sleep(0.02)
