"""The work behind `anyscene label`: one job a file, in this process or in several."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from anyscene.apps.sources import Source
from anyscene.apps.video import read_frames
from anyscene.data import read_image
from anyscene.engine import Engine, load
from anyscene.engine.carrying import Carried
from anyscene.errors import AnysceneError, ConfigError
from anyscene.files import write_atomically
from anyscene.labeling import Labeling

RECORD = "anyscene-label.json"
SUFFIXES = {"overlay": ".overlay.png", "confidence": ".confidence.png", "trace": ".trace.json"}


@dataclass(frozen=True)
class Settings:
    """How files are labelled. extras : what is written beside the ids, keys of SUFFIXES."""

    model: str
    budget: str | None = None
    until: float | None = None
    extras: tuple[str, ...] = ()
    carry: bool = False
    redo: bool = False


@dataclass(frozen=True)
class Done:
    """What became of one source. kept : results that were there before. problem : why it was not finished."""

    source: Source
    costs: list[float] = field(default_factory=list)
    deadlines_met: list[bool | None] = field(default_factory=list)
    kept: int = 0
    problem: str | None = None


def check_settings(out: Path, settings: Settings) -> None:
    """Note how the results in a folder are made; refuse to mix those of two ways."""
    ways = {
        key: value for key, value in asdict(settings).items() if key in ("model", "budget", "until", "carry")
    }
    record = out / RECORD
    if record.exists() and not settings.redo:
        try:
            before = json.loads(record.read_text())
        except ValueError:
            before = None
        if before != ways:
            raise ConfigError(
                f"{out} holds results that were made with other settings ({record.name} says which); "
                "choose another folder, or label all again with --redo"
            )
    with write_atomically(record) as file:
        file.write(json.dumps(ways, indent=1).encode())


def run_jobs(sources: Sequence[Source], settings: Settings, workers: int) -> Iterator[Done]:
    """Label all sources and yield what became of each, in no fixed order when there are several workers."""
    workers = min(workers, len(sources))
    if workers <= 1:
        engine = load(settings.model) if sources else None
        return (label_source(engine, source, settings) for source in sources if engine is not None)
    load(settings.model)  # measures this machine if need be, before there is competition
    return _run_in_processes(sources, settings, workers)


def _run_in_processes(sources: Sequence[Source], settings: Settings, workers: int) -> Iterator[Done]:
    # Not fork: this process has threads already.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _start_worker, (settings,)) as pool:
        pending = {pool.submit(_label_in_worker, source): source for source in sources}
        for future in as_completed(pending):
            try:
                yield future.result()
            except BrokenProcessPool:
                why = (
                    "the process that labelled it was ended, perhaps for want of memory; use fewer --workers"
                )
                yield Done(pending[future], problem=f"{pending[future].path}: {why}")


_WORKER: dict[str, Any] = {}
"""What a worker process keeps between its jobs."""


def _start_worker(settings: Settings) -> None:
    _WORKER.update(engine=load(settings.model), settings=settings)


def _label_in_worker(source: Source) -> Done:
    return label_source(_WORKER["engine"], source, _WORKER["settings"])


def label_source(engine: Engine, source: Source, settings: Settings) -> Done:
    """Label one picture, or all frames of one video; whatever is wrong with the file is told, not raised."""
    done = Done(source)
    kept = 0
    carried: Carried | None = None
    try:
        for target, image in _images(source, settings):
            if image is None:
                kept += 1
                carried = None
                continue
            run = engine.begin(image, settings.budget, carried)
            run.finish(settings.until)
            labeling = run.labeling()
            carried = run.to_carry() if settings.carry and source.is_video else None
            write_results(target, labeling, image, settings.extras)
            done.costs.append(labeling.cost)
            done.deadlines_met.append(labeling.deadline_met)
    except AnysceneError as error:
        return Done(source, done.costs, done.deadlines_met, kept, str(error))
    except OSError as error:
        return Done(source, done.costs, done.deadlines_met, kept, f"{source.path}: {error}")
    return Done(source, done.costs, done.deadlines_met, kept)


def _images(source: Source, settings: Settings) -> Iterable[tuple[Path, NDArray[np.uint8] | None]]:
    """Targets and their images; None for an image whose results are there already."""
    if source.is_video:
        for index, frame in enumerate(read_frames(source.path)):
            target = source.target / f"{index:06d}"
            yield target, None if _is_done(source, target, settings) else frame
    else:
        done = _is_done(source, source.target, settings)
        yield source.target, None if done else read_image(source.path)


def _is_done(source: Source, target: Path, settings: Settings) -> bool:
    """Tell whether all results are there and newer than their source."""
    if settings.redo:
        return False
    wanted = [_with(target, ".png"), *(_with(target, SUFFIXES[extra]) for extra in settings.extras)]
    try:
        source_time = os.stat(source.path).st_mtime
        return all(os.stat(path).st_mtime >= source_time for path in wanted)
    except OSError:
        return False


def write_results(target: Path, labeling: Labeling, image: NDArray[np.uint8], extras: Sequence[str]) -> None:
    """Write all that is wanted of a labeling, each file wholly or not at all, the ids last."""
    if "overlay" in extras:
        _write_png(_with(target, SUFFIXES["overlay"]), labeling.overlay(image))
    if "confidence" in extras:
        _write_png(_with(target, SUFFIXES["confidence"]), np.rint(labeling.confidence * 255).astype(np.uint8))
    if "trace" in extras:
        with write_atomically(_with(target, SUFFIXES["trace"])) as file:
            file.write(labeling.to_json().encode())
    labeling.save(_with(target, ".png"))


def _with(target: Path, suffix: str) -> Path:
    # Not with_suffix: a dot in a name is part of the name.
    return target.with_name(target.name + suffix)


def _write_png(path: Path, picture: NDArray[np.uint8]) -> None:
    with write_atomically(path) as file:
        Image.fromarray(picture).save(file, "PNG")
