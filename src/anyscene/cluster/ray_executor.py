"""Labeling on a Ray cluster: Ray Data streams chunks through actors with one model and one core each."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from anyscene.cluster.dealing import Deal, Dealer
from anyscene.cluster.executors import Executor
from anyscene.cluster.labeler import OutputError, cpu_ms, node_name
from anyscene.cluster.manifest import manifest_schema
from anyscene.cluster.needs import require
from anyscene.cluster.sending import SentModel, send_model
from anyscene.cluster.todo import Chunk
from anyscene.cluster.worker import Work, Worker
from anyscene.errors import AnysceneError, ConfigError

if TYPE_CHECKING:
    import pyarrow

LOCAL, RUNNING = "local", "auto"
STOPPED = "stopped"
"""The status of a row that says why the job cannot go on."""

CONNECT_SECONDS = 5.0

Item = TypeVar("Item")
Result = TypeVar("Result")


@contextmanager
def connected(cluster: str, cores: int | None = None) -> Iterator[int]:
    """Join a cluster while the block runs; yield how many cores it has.

    cluster : "local" starts one on this machine, of so many cores; "auto" finds the one that runs here;
    otherwise its address, such as ray://head:10001.
    """
    require("ray")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is told to anybody
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # Ray's own logs are in its folder
    import ray
    from ray.exceptions import RaySystemError

    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if cluster == LOCAL:
        options |= {"address": LOCAL, "num_cpus": cores, "include_dashboard": False}
    else:
        _reach(cluster)
        options["address"] = cluster
    try:
        with _hushed():
            ray.init(**options)
    except (ConnectionError, RaySystemError, RuntimeError, ValueError) as error:
        raise _no_cluster(cluster) from error
    try:
        yield max(1, int(ray.cluster_resources().get("CPU", 1)))
    finally:
        ray.shutdown()


@contextmanager
def _hushed() -> Iterator[None]:
    """Keep what the compiled part of Ray says as it starts out of the terminal; errors are raised."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _reach(cluster: str) -> None:
    """Raise where nobody listens; Ray itself would try for a minute."""
    host, _, port = cluster.removeprefix("ray://").rpartition(":")
    if cluster == RUNNING:
        return
    if not host or not port.isdecimal():
        raise ConfigError(f"--cluster is auto, local or an address such as ray://head:10001, not '{cluster}'")
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise _no_cluster(cluster) from error


def _no_cluster(cluster: str) -> ConfigError:
    where = "on this machine" if cluster == RUNNING else f"at {cluster}"
    return ConfigError(
        f"there is no Ray cluster {where}; start one (`ray start --head`), or use --cluster local"
    )


def on_ray(actors: int, most: int | None) -> Executor:
    """So many actors of the cluster that was joined; more, as it grows, but at most so many."""

    def run(work: Work, chunks: Iterable[Chunk], dealer: Dealer) -> Iterator[pyarrow.Table]:
        import ray
        from ray.data import ActorPoolStrategy, DataContext

        rows = [dict(zip(Chunk._fields, chunk, strict=True)) for chunk in chunks]
        context = DataContext.get_current()
        context.enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        desk = _desk(dealer)
        pool = ActorPoolStrategy(min_size=min(actors, len(rows)), max_size=min(most or len(rows), len(rows)))
        labelled = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
            _RayWorker,
            fn_constructor_args=(work, send_model(work.model), desk),
            batch_size=1,
            compute=pool,
            num_cpus=1,
        )
        told_ms = images_ms = 0.0
        images = 0
        for table in labelled.iter_batches(batch_size=None, batch_format="pyarrow"):
            if STOPPED in table["status"].to_pylist():
                raise OutputError(table["error"][0].as_py())
            yield table.cast(manifest_schema())
            images += table.num_rows
            images_ms += sum(table["cpu_ms"].to_pylist())
            now_ms = cpu_ms()
            desk.spend.remote(now_ms - told_ms)
            desk.seen.remote(images, images_ms, images_ms + now_ms)
            told_ms = now_ms
        dealer.spent_ms = ray.get(desk.spent.remote())

    return run


class _RayWorker:
    """A worker that asks the desk before each chunk.

    What must end the job is told as a row, because Ray would bury it in tracebacks.
    """

    def __init__(self, work: Work, model: SentModel, desk: Any) -> None:
        self._desk = desk
        self._fault = ""
        try:
            self._worker = Worker(replace(work, model=model.received()))
        except AnysceneError as error:
            self._fault = f"node {node_name()}: {error}"

    def __call__(self, batch: Mapping[str, Any]) -> pyarrow.Table:
        from ray.exceptions import RayError

        if self._fault:
            return _stopped(self._fault)
        try:
            return self._labelled(batch)
        except AnysceneError as error:
            return _stopped(str(error))
        except RayError as error:  # nobody deals any more
            why = " ".join(str(error).split())[:200]
            return _stopped(f"the cluster lost a part of the job ({why}); the same command goes on")

    def _labelled(self, batch: Mapping[str, Any]) -> pyarrow.Table:
        import ray

        chunk = Chunk(*(int(batch[name][0]) for name in Chunk._fields))
        deal: Deal = ray.get(self._desk.deal.remote(chunk))
        if deal.is_over:
            return manifest_schema().empty_table()
        table, took = self._worker.label(
            chunk, deal, lambda image: int(ray.get(self._desk.suspect.remote(image)))
        )
        self._desk.took.remote(chunk, took)
        return table


def _stopped(why: str) -> pyarrow.Table:
    import pyarrow as pa

    return pa.Table.from_pylist([{"status": STOPPED, "error": why}], manifest_schema())


class _Desk:
    """The dealer, where all workers can ask it."""

    def __init__(self, dealer: Dealer) -> None:
        self._dealer = dealer

    def deal(self, chunk: Chunk) -> Deal:
        return self._dealer.deal(chunk)

    def took(self, chunk: Chunk, took: Any) -> None:
        self._dealer.took(chunk, took)

    def spend(self, cpu_ms: float) -> None:
        self._dealer.spend(cpu_ms)

    def seen(self, images: int, own_cpu_ms: float, cpu_ms: float) -> None:
        self._dealer.seen(images, own_cpu_ms, cpu_ms)

    def suspect(self, image: bytes) -> int:
        return self._dealer.suspect(image)

    def spent(self) -> float:
        return self._dealer.spent_ms


def _desk(dealer: Dealer) -> Any:
    """Set up the desk beside the driver, without which there is no job: other nodes may come and go."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    # A node that is slow to answer may be taken for dead: the desk is set up again then, and asked again.
    lasting = {"max_restarts": -1, "max_task_retries": -1}
    return ray.remote(_Desk).options(num_cpus=0, scheduling_strategy=here, **lasting).remote(dealer)


@contextmanager
def _told_as_one_sentence() -> Iterator[None]:
    """Raise what a worker raised for the user, without Ray's wrapping."""
    from ray.exceptions import RayError

    try:
        yield
    except RayError as error:
        found = getattr(error, "cause", None)
        if not isinstance(found, AnysceneError):
            raise
        raise found from error


def run_on_ray(
    work: Callable[[Item], Result], items: Iterable[Item], count: int
) -> Iterator[tuple[Item, Result]]:
    """Apply `work` to every item on the cluster that was joined, `count` at a time; yield as they come."""
    import ray

    task, sent = ray.remote(_applied).options(num_cpus=1, max_retries=-1), ray.put(work)
    waiting: dict[Any, Item] = {}
    todo = iter(items)
    with _told_as_one_sentence():
        while True:
            for item in todo:
                waiting[task.remote(sent, item)] = item
                if len(waiting) >= 2 * count:
                    break
            if not waiting:
                return
            for done in ray.wait(list(waiting))[0]:
                yield waiting.pop(done), ray.get(done)


def _applied(work: Callable[[Item], Result], item: Item) -> Result:
    return work(item)
