"""The cores of a cluster as helpers: jobs of learning are done there as they would be here."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from anyscene.cluster.ray_executor import run_on_ray
from anyscene.learning.helpers import Inputs, Report, Share, Work, unheard
from anyscene.threads import one_thread


@dataclass(frozen=True)
class RayHelpers:
    """So many cores of the cluster that was joined. A job has one of them; what it reports is not heard."""

    cores: int
    threads: int = 1
    report: Report = unheard

    def share(self, inputs: Inputs) -> Share[Inputs]:
        """Put the inputs into Ray's object store, from where each process fetches them once."""
        import ray

        # As bytes: Ray would hand out arrays that are read-only, which kernels would be compiled for anew.
        sent = ray.put(ray.cloudpickle.dumps(inputs))

        def do(work: Work[Inputs, Any, Any], jobs: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
            return run_on_ray(partial(_do, sent, work), jobs, self.cores)

        return do


def _do(sent: Any, work: Work[Any, Any, Any], job: Any) -> Any:
    with one_thread():
        return work(_received(sent), job)


@lru_cache(maxsize=1)
def _received(sent: Any) -> Any:
    """The inputs of the latest jobs."""
    import ray

    return pickle.loads(ray.get(sent))
