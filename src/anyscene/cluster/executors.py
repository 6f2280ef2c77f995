"""Who does the work of a job: this process, several processes, or (`ray_executor.py`) a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING

from anyscene.cluster.dealing import Deal, Dealer, Took
from anyscene.cluster.labeler import cpu_ms
from anyscene.cluster.manifest import manifest_rows
from anyscene.cluster.places import place
from anyscene.cluster.todo import Chunk, read_tasks
from anyscene.cluster.worker import Work, Worker, given_up, told_beside
from anyscene.processes import Died, run_in_processes

if TYPE_CHECKING:
    import pyarrow

Executor = Callable[[Work, Iterable[Chunk], Dealer], Iterator["pyarrow.Table"]]
"""Labels chunks and yields rows of the manifest as they come, until all are done or nothing is left to spend.

It asks the dealer before each chunk, and tells it what each has taken.
"""


def in_this_process(work: Work, chunks: Iterable[Chunk], dealer: Dealer) -> Iterator[pyarrow.Table]:
    """One chunk after the other."""
    worker = Worker(work)
    for chunk, deal in _dealt(chunks, dealer):
        table, took = worker.label(chunk, deal)
        dealer.took(chunk, took)
        yield table


def in_processes(count: int) -> Executor:
    """So many processes on this machine."""

    def run(work: Work, chunks: Iterable[Chunk], dealer: Dealer) -> Iterator[pyarrow.Table]:
        told_ms = 0.0
        for (chunk, _), done in run_in_processes(partial(_label, work), _dealt(chunks, dealer), count):
            if not isinstance(done, Died):
                table, took = done
                dealer.took(chunk, took)
                dealer.spend(cpu_ms() - told_ms)  # what this process takes itself
                told_ms = cpu_ms()
                yield table
            elif chunk.size > 1:  # one of its images ends the process: which?
                singly = (Chunk(chunk.file, row, row + 1) for row in range(chunk.start, chunk.stop))
                dealer.took(chunk, Took(0, 0.0, 0.0, 0.0))
                yield from in_processes(1)(work, singly, dealer)
            else:
                dealer.took(chunk, Took(1, 0.0, 0.0, 0.0))
                task = read_tasks(place(work.todo), chunk.file)[chunk.start]
                yield manifest_rows([(given_up(task), told_beside(task, 0.0))])

    return run


def _dealt(chunks: Iterable[Chunk], dealer: Dealer) -> Iterator[tuple[Chunk, Deal]]:
    """Deal as chunks are begun, not beforehand."""
    for chunk in chunks:
        deal = dealer.deal(chunk)
        if deal.is_over:
            return
        yield chunk, deal


_worker = cache(Worker)


def _label(work: Work, item: tuple[Chunk, Deal]) -> tuple[pyarrow.Table, Took]:
    return _worker(work).label(*item)
