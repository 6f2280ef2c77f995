"""The work behind `anyscene label`: one job a file, in this process or in several."""

from __future__ import annotations

import errno
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyscene.apps.label_streams import label_stream
from anyscene.apps.results import is_done, with_suffix, write_results
from anyscene.apps.sources import Source
from anyscene.apps.video import read_frames
from anyscene.cluster.allowance import Allowance
from anyscene.data import read_image
from anyscene.engine.clock import parse_budget
from anyscene.errors import AnysceneError, ConfigError, ImageError
from anyscene.labeling import Labeling
from anyscene.outputs.records import Record, record_of
from anyscene.outputs.result_files import IDS, needs_confidence
from anyscene.processes import Died, run_in_processes
from anyscene.streams.engine import StreamingEngine, load


@dataclass(frozen=True)
class Settings:
    """How files are labelled.

    extras : what is written beside the ids, keys of `results.SUFFIXES`. live : whether videos are labelled as
    streams, where what is known moves along from frame to frame. overlay_video : where overlays go.
    """

    model: str
    budget: str | None = None
    until: float | None = None
    extras: tuple[str, ...] = ()
    opacity: float = 0.5
    redo: bool = False
    live: bool = False
    overlay_video: str | None = None


@dataclass(frozen=True)
class Job:
    """A source and what each of its images may take, in milliseconds; None where there is no limit."""

    source: Source
    budget_ms: float | None


@dataclass(frozen=True)
class Done:
    """What became of one source: a record for each of its images, and what all of it took."""

    source: Source
    records: tuple[Record, ...]
    ms: float = 0.0


class OutputError(ConfigError):
    """Results cannot be written: what fails for one image will fail for all."""


def parted(sources: Sequence[Source], settings: Settings) -> tuple[list[Source], list[Done]]:
    """What is still to be labelled, and the pictures whose results are there already."""
    todo, kept = [], []
    for source in sources:
        if source.is_video or settings.redo or not is_done(source, source.target, settings.extras):
            todo.append(source)
        else:
            result = with_suffix(source.target, IDS)
            kept.append(Done(source, (Record(str(source.path), "kept", result=str(result)),)))
    return todo, kept


def run_jobs(
    sources: Sequence[Source], settings: Settings, workers: int, allowance: Allowance | None = None
) -> Iterator[Done]:
    """Label all sources and yield what became of each, in no fixed order when there are several workers."""
    if not sources:
        return iter(())
    engine = load(settings.model)  # measures this machine if need be, before there is competition
    jobs = _jobs(sources, settings, allowance)
    workers = min(workers, len(sources))
    if workers == 1:
        return _told((label_source(engine, job, settings) for job in jobs), allowance)
    return _told(_run_in_processes(jobs, settings, workers), allowance)


def _told(done: Iterable[Done], allowance: Allowance | None) -> Iterator[Done]:
    """Pass on what was done, and tell the allowance."""
    for one in done:
        if allowance:
            allowance.took(one.ms, sum(record.ms or 0.0 for record in one.records))
        yield one


def _jobs(sources: Iterable[Source], settings: Settings, allowance: Allowance | None) -> Iterator[Job]:
    """Share out time as jobs are begun, not beforehand."""
    each = None if settings.budget is None else parse_budget(settings.budget)
    for source in sources:
        if allowance is None:
            yield Job(source, each)
            continue
        share = allowance.next_ms()
        yield Job(source, 0.0 if share is None else min(share, each or share))


def _run_in_processes(jobs: Iterable[Job], settings: Settings, workers: int) -> Iterator[Done]:
    for job, done in run_in_processes(partial(_label_in_worker, settings), jobs, workers):
        if isinstance(done, Died):
            why = "the process that labelled it was ended, perhaps for want of memory; use fewer --workers"
            path = str(job.source.path)
            yield Done(job.source, (Record(path, "failed", error=f"{path}: {why}"),))
        else:
            yield done


_load_once = cache(load)


def _label_in_worker(settings: Settings, job: Job) -> Done:
    return label_source(_load_once(settings.model), job, settings)


def label_source(engine: StreamingEngine, job: Job, settings: Settings) -> Done:
    """Label one picture, or all frames of one video; whatever is wrong with the file is told, not raised."""
    begun = time.monotonic()
    source, file = job.source, str(job.source.path)
    records: list[Record] = []
    try:
        if job.budget_ms == 0:
            raise ImageError(f"{file}: no time was left for it; the same command goes on")
        for frame, target, image, labeling in _labelings(engine, job, settings):
            result = with_suffix(target, IDS)
            if image is None or labeling is None:
                records.append(Record(file, "kept", frame, str(result)))
                continue
            if labeling.familiarity is None:  # not known under a deadline, and not a part of it
                labeling = replace(labeling, familiarity=engine.familiarity(image))
            _write(partial(write_results, target, labeling, image, settings.extras, settings.opacity), result)
            records.append(record_of(file, frame, result, labeling, job.budget_ms))
    except OutputError:
        raise
    except (AnysceneError, OSError) as error:
        text = str(error)
        records.append(Record(file, "failed", error=text if file in text else f"{file}: {text}"))
    return Done(source, tuple(records), 1e3 * (time.monotonic() - begun))


Labelled = tuple[int | None, Path, NDArray[np.uint8] | None, Labeling | None]
"""A frame's number, its target, its image and its labels; None where the results are there already."""


def _labelings(engine: StreamingEngine, job: Job, settings: Settings) -> Iterator[Labelled]:
    confidence = needs_confidence(settings.extras)
    if settings.live and job.source.is_video:
        # Frames with results are seen, too, for the sake of those after them.
        shown = label_stream(engine, job.source.path, job.budget_ms, confidence, settings.overlay_video)
        for index, (image, labeling) in enumerate(shown):
            target = job.source.target / f"{index:06d}"
            done = not settings.redo and is_done(job.source, target, settings.extras)
            yield (index, target, None, None) if done else (index, target, image, labeling)
        return
    for number, target, picture in _images(job.source, settings):
        found = None
        if picture is not None:
            found = engine.label(picture, job.budget_ms, until=settings.until, confidence=confidence or None)
        yield number, target, picture, found


def _write(write: partial[None], result: Path) -> None:
    try:
        write()
    except (OSError, ConfigError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        if isinstance(cause, OSError) and cause.errno == errno.ENAMETOOLONG:
            raise  # the fault of this one name
        why = cause.strerror if isinstance(cause, OSError) else str(error)
        raise OutputError(
            f"cannot write {result}: {why}; make room or choose another folder, and the same command goes on"
        ) from error


def _images(
    source: Source, settings: Settings
) -> Iterator[tuple[int | None, Path, NDArray[np.uint8] | None]]:
    """Numbers of frames, targets and images; None for an image whose results are there already."""
    if not source.is_video:
        yield None, source.target, read_image(source.path)
        return
    for index, frame in enumerate(read_frames(source.path)):
        target = source.target / f"{index:06d}"
        done = not settings.redo and is_done(source, target, settings.extras)
        yield index, target, None if done else frame
