"""Work shared among processes that never outlive the one that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

GRACE_SECONDS = 0.3
"""A process that is told to end has this long to tidy up; it removes half-written files in milliseconds."""


class Died:
    """Takes the place of a result whose process was ended, by the system or by somebody."""


def run_in_processes(
    work: Callable[[Item], Result], items: Iterable[Item], count: int
) -> Iterator[tuple[Item, Result | Died]]:
    """Apply `work` to every item in `count` processes; yield each item with its result as they come.

    What `work` raises is raised here. A process that dies costs its own item only. All of them end when
    whoever listens stops, and when this process ends, however it comes to that.
    """
    todo = iter(items)
    busy: dict[Any, _Worker[Item]] = {}

    def give(worker: _Worker[Item], item: Item) -> None:
        worker.give(item)
        busy[worker.connection] = worker

    try:
        for item in islice(todo, count):
            give(_Worker(work), item)
        while busy:
            for ready in wait(list(busy)):
                worker = busy.pop(ready)
                done, answer = worker.item, worker.answer()
                for item in islice(todo, 1):
                    give(_Worker(work) if isinstance(answer, Died) else worker, item)
                if worker.connection not in busy:
                    worker.connection.close()  # which it takes for the end of its work
                if isinstance(answer, Exception):
                    raise answer
                yield done, answer
    finally:
        end_processes(worker.process for worker in busy.values())


def end_processes(processes: Iterable[BaseProcess]) -> None:
    """End processes: kindly, and after a moment by force."""
    processes = list(processes)
    for process in processes:
        process.terminate()
    last = time.monotonic() + GRACE_SECONDS
    for process in processes:
        process.join(max(0.0, last - time.monotonic()))
        if process.is_alive():
            process.kill()


class _Worker(Generic[Item]):
    """A process that works on one item at a time."""

    def __init__(self, work: Callable[[Item], object]) -> None:
        # Not forked: threads and sessions of ONNX Runtime do not survive that.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with _interrupts_held_back():
            self.process.start()
        theirs.close()
        # Not an argument: what it imports takes seconds, and the process must watch its parent before that.
        self._send(work)

    def give(self, item: Item) -> None:
        """Begin to work on an item."""
        self.item = item
        self._send(item)

    def answer(self) -> Any:
        """What became of the item: its result, an Exception, or Died."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            return Died()

    def _send(self, what: object) -> None:
        with suppress(OSError):  # it has died: `answer` will tell
            self.connection.send(what)


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Let processes that start here never see Ctrl-C: the terminal sends it to all, but one decides."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(connection: Connection) -> None:
    """What a process does: learn its work, then take an item, work, answer, until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    threading.Thread(target=end_with_parent, daemon=True).start()
    with suppress(EOFError):  # the other end was closed: there is no more to do
        work = connection.recv()
        while True:
            item = connection.recv()
            try:
                answer = work(item)
            except Exception as error:
                error.add_note(f"in a process of its own:\n{traceback.format_exc()}")
                answer = error
            connection.send(answer)


def end_with_parent() -> None:
    """Wait for the end of the process that started this one, and follow it; for a thread of its own."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os._exit(1)
