"""Running every system once on every image, in one process or several; traces are kept chunk by chunk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

import anyscene
from anyscene.errors import ConfigError
from anyscene.evaluation.baselines.fitted import FittedBaselines
from anyscene.evaluation.compared_systems import BY_KEY
from anyscene.evaluation.image_tracer import ImageTracer, Job
from anyscene.evaluation.request import WALL_CLOCK, Runner
from anyscene.evaluation.traces import Trace, load_traces, save_traces
from anyscene.painting.show import VERSION as PAINTING_VERSION
from anyscene.processes import Died, run_in_processes
from anyscene.threads import one_thread

Report = Callable[[str, int, int, str], None]
"""Is told of progress: (stage, how many are done, of how many, a word on the latest)."""

CHUNK = 4
"""The images whose traces share a file. A killed run repeats at most this many."""


def trace_images(
    job: Job, systems: Sequence[str], processes: int, report: Report, runner: Runner = run_in_processes
) -> dict[str, list[Trace]]:
    """Every system's traces on all images; what is in the work folder is not done again.

    With the wall clock everything runs in this process, one image after the other.
    """
    chunks = [job.indices[start : start + CHUNK] for start in range(0, len(job.indices), CHUNK)]
    keys = {system: _key(job, system) for system in systems}

    def path(system: str, chunk: Sequence[int]) -> Path:
        return job.work / f"{system}-{keys[system]}" / f"{chunk[0]:05d}-{len(chunk)}.safetensors"

    missing = []
    for chunk in chunks:
        paths = tuple((system, path(system, chunk)) for system in systems)
        lacking = tuple((system, place) for system, place in paths if load_traces(place) is None)
        if lacking:
            missing.append((chunk, lacking))
    done = len(job.indices) - sum(len(chunk) for chunk, _ in missing)
    report("images", done, len(job.indices), "kept from before" if done else "")
    for chunk in _run(job, missing, 1 if job.clock == WALL_CLOCK else processes, runner):
        done += len(chunk)
        report("images", done, len(job.indices), "")
    return {
        system: [trace for chunk in chunks for trace in load_traces(path(system, chunk)) or []]
        for system in systems
    }


Task = tuple[tuple[int, ...], tuple[tuple[str, Path], ...]]


def _run(job: Job, tasks: Sequence[Task], processes: int, runner: Runner) -> Iterator[tuple[int, ...]]:
    """Do all tasks; yield the images of each that ends."""
    if processes <= 1 or len(tasks) <= 1:
        for task in tasks:
            yield _do(job, task)
        return
    for (chunk, _), done in runner(partial(_do, job), tasks, min(processes, len(tasks))):
        if isinstance(done, Died):
            raise ConfigError(
                "a process that scored images was ended, perhaps for want of memory; use fewer --jobs"
            )
        yield chunk


def _do(job: Job, task: Task) -> tuple[int, ...]:
    chunk, wanted = task
    with one_thread():
        tracer = _tracer(job)
        images = [tracer.image(index) for index in chunk]
        for system, path in wanted:
            pairs = zip(chunk, images, strict=True)
            save_traces(path, [tracer.trace(system, index, image) for index, image in pairs])
    return chunk


def _key(job: Job, system: str) -> str:
    """A hash of all that a system's traces depend on, so that stale ones are not found."""
    facts = [anyscene.__version__, str(PAINTING_VERSION), job.data, job.split, str(job.indices), job.clock]
    if BY_KEY[system].anytime:
        facts += [job.model_hash, str(job.upfront)]
    elif job.baselines:
        facts.append(FittedBaselines.fingerprint(job.baselines, system))
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:12]


@cache
def _tracer(job: Job) -> ImageTracer:
    return ImageTracer(job)
