"""Who looks between frames: a thread by the clock, or a stand-in for one by the frames' time stamps."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition, Thread
from typing import Protocol

from anyscene.streams.memory import Memory

Job = Callable[[], Memory]


@dataclass(frozen=True, eq=False)
class Finished:
    """What became of a job. memory : None where it failed; `error` then says why. cpu_ms : what it took."""

    memory: Memory | None
    cpu_ms: float
    error: BaseException | None = None


class Worker(Protocol):
    """Does one job at a time."""

    @property
    def cpu_ms(self) -> float:
        """CPU time that all jobs took so far, those that were set aside, too."""
        ...

    @property
    def is_busy(self) -> bool:
        """Whether a job was submitted that was neither collected nor set aside."""
        ...

    def submit(self, job: Job, now_ms: float, cost_ms: float) -> None:
        """Begin a job while none is under way. cost_ms : what it is expected to take."""
        ...

    def collect(self, now_ms: float) -> Finished | None:
        """Return the job's result, once, when it is done."""
        ...

    def set_aside(self) -> None:
        """Forget the job; its result will not be collected."""
        ...

    def close(self) -> None:
        """Stop for good."""
        ...


class ThreadWorker:
    """A thread that works while nobody waits for it."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._job: Job | None = None
        self._running = False
        self._forgotten = False
        self._died = False
        self._finished: Finished | None = None
        self._closed = False
        self._thread: Thread | None = None
        self._cpu_ms = 0.0

    @property
    def cpu_ms(self) -> float:
        """CPU time that all jobs took so far."""
        return self._cpu_ms

    @property
    def is_busy(self) -> bool:
        """Whether a job is waiting, under way, or done and not collected."""
        with self._changed:
            return self._job is not None or self._running or self._finished is not None

    def submit(self, job: Job, now_ms: float, cost_ms: float) -> None:
        """Hand a job to the thread; the first one starts it, and so does the first after its death."""
        with self._changed:
            self._note_death()
            self._job = job
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._work, name="anyscene stream", daemon=True)
                self._thread.start()
            self._changed.notify()

    def collect(self, now_ms: float) -> Finished | None:
        """Return what is done. That the thread ended is told once, also of a job that was set aside."""
        with self._changed:
            self._note_death()
            finished, self._finished = self._finished, None
            if self._died:
                self._died = False
                return Finished(None, 0.0, RuntimeError("its thread ended"))
            return finished

    def _note_death(self) -> None:
        if self._running and self._thread is not None and not self._thread.is_alive():
            self._running, self._died = False, True

    def set_aside(self) -> None:
        """Drop a job that waits or is done; what is under way runs to its end, for nothing."""
        with self._changed:
            self._job = self._finished = None
            self._forgotten = self._running

    def close(self) -> None:
        """End the thread, after the job that is under way."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                while self._job is None and not self._closed:
                    self._changed.wait()
                if self._closed or self._job is None:
                    return
                job, self._job, self._running, self._forgotten = self._job, None, True, False
            finished = _done(job)
            with self._changed:
                self._running = False
                self._cpu_ms += finished.cpu_ms
                if not self._forgotten:
                    self._finished = finished


class StampedWorker:
    """Does jobs between calls, and hands them out when they are done by the frames' stamps.

    Call `work` after each call, so that no call is charged for a job.
    """

    def __init__(self) -> None:
        self._job: Job | None = None
        self._finished: Finished | None = None
        self._due_ms = 0.0
        self.cpu_ms = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether a job was not collected."""
        return self._job is not None or self._finished is not None

    def submit(self, job: Job, now_ms: float, cost_ms: float) -> None:
        """Take a job, to be done by `work`."""
        self._job = job
        self._due_ms = now_ms + cost_ms

    def work(self) -> None:
        """Do the job, if there is one that is not done."""
        if self._job is not None:
            job, self._job = self._job, None
            self._finished = _done(job)
            self.cpu_ms += self._finished.cpu_ms

    def collect(self, now_ms: float) -> Finished | None:
        """Return the job that is done by now by the stamps."""
        if not self.is_busy or now_ms < self._due_ms:
            return None
        self.work()
        finished, self._finished = self._finished, None
        return finished

    def set_aside(self) -> None:
        """Forget the job, which is paid for all the same."""
        self.work()
        self._finished = None

    def close(self) -> None:
        """Do nothing: no thread is to be stopped."""


def _done(job: Job) -> Finished:
    begun = time.thread_time()
    try:
        memory = job()
    except Exception as error:
        return Finished(None, (time.thread_time() - begun) * 1e3, error)
    return Finished(memory, (time.thread_time() - begun) * 1e3)
