"""Scoring images, in this process or in several: every system once on every image, kept chunk by chunk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import cache, cached_property
from multiprocessing import get_context
from pathlib import Path

import cv2
from threadpoolctl import threadpool_limits

import anyscene
from anyscene.data import DataSet
from anyscene.data import open as open_data
from anyscene.engine import Engine
from anyscene.engine.foresight import Foresight
from anyscene.engine.learned import Learned
from anyscene.engine.loading import bank_of, learned_from
from anyscene.engine.preparing import foresight_for
from anyscene.evaluation.anytime import loss_weight, policy_for, trace_by_clock, trace_by_costs
from anyscene.evaluation.fitting import Fitted
from anyscene.evaluation.fixed import trace_fitted, trace_fitted_by_clock
from anyscene.evaluation.images import ScoredImage, prepare_image
from anyscene.evaluation.systems import SYSTEMS
from anyscene.evaluation.traces import Trace, join_ends, load_traces, save_traces
from anyscene.features.cache import FeatureCache
from anyscene.features.memory import keep_freed_memory
from anyscene.files import cache_dir
from anyscene.model import painting
from anyscene.model.modelfile import load_model
from anyscene.model.policies import Policy, StaticPolicy

Report = Callable[[str, int, int, str], None]
"""Told of progress: (stage, done, of how many, a word on the latest)."""

CHUNK = 4
"""Images whose traces share a file: what a killed run does again."""

MODEL_CLOCK, WALL_CLOCK = "model", "wall"
LAZY, UPFRONT = "lazy", "upfront"


@dataclass(frozen=True)
class Job:
    """What is scored, as every process needs it.

    indices : positions in the split. baselines : folder of the fitted ones, if any are wanted.
    """

    data: str
    split: str
    model: Path
    work: Path
    indices: tuple[int, ...]
    clock: str
    segmentation: str
    baselines: Path | None

    @cached_property
    def model_hash(self) -> str:
        """Names the model by its bytes."""
        return hashlib.sha256(self.model.read_bytes()).hexdigest()


def trace_images(job: Job, systems: Sequence[str], processes: int, report: Report) -> dict[str, list[Trace]]:
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
    for chunk in _run(job, missing, 1 if job.clock == WALL_CLOCK else processes):
        done += len(chunk)
        report("images", done, len(job.indices), "")
    return {
        system: [trace for chunk in chunks for trace in load_traces(path(system, chunk)) or []]
        for system in systems
    }


Task = tuple[tuple[int, ...], tuple[tuple[str, Path], ...]]


def _run(job: Job, tasks: Sequence[Task], processes: int) -> Iterator[tuple[int, ...]]:
    """Do all tasks; yield the images of each that ends."""
    if processes <= 1 or len(tasks) <= 1:
        for task in tasks:
            yield _do(job, task)
        return
    # Not forked: sessions of ONNX Runtime and compiled threads do not survive that.
    with ProcessPoolExecutor(min(processes, len(tasks)), get_context("spawn")) as pool:
        for future in as_completed([pool.submit(_do, job, task) for task in tasks]):
            yield future.result()


def _do(job: Job, task: Task) -> tuple[int, ...]:
    chunk, wanted = task
    with threadpool_limits(1):
        cv2.setNumThreads(1)
        worker = _worker(job)
        images = [worker.image(index) for index in chunk]
        for system, path in wanted:
            pairs = zip(chunk, images, strict=True)
            save_traces(path, [worker.trace(system, index, image) for index, image in pairs])
    return chunk


def _key(job: Job, system: str) -> str:
    """A hash of all that a system's traces depend on: whatever changes, nothing stale is found."""
    facts = [anyscene.__version__, str(painting.VERSION), job.data, job.split, str(job.indices), job.clock]
    if system in SYSTEMS and SYSTEMS[system].anytime:
        facts += [job.model_hash, job.segmentation]
    elif job.baselines:
        facts.append(Fitted.fingerprint(job.baselines, system))
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:12]


@cache
def _worker(job: Job) -> Worker:
    return Worker(job)


class Worker:
    """All that one process needs to score images; parts are loaded when first asked for."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._trained = load_model(job.model)
        self._dataset: DataSet = open_data(job.data)
        self._scenes = self._dataset.split(job.split)
        self._cache = FeatureCache(cache_dir() / "features")
        self._bank = bank_of(self._trained)

    @cached_property
    def fitted(self) -> Fitted | None:
        """The fitted baselines."""
        folder = self._job.baselines
        return Fitted.load(folder, len(self._dataset.classes)) if folder else None

    def image(self, index: int) -> ScoredImage:
        """An image of the split with the model's features."""
        return prepare_image(self._scenes[index], self._bank, len(self._dataset.classes), self._cache)

    def trace(self, system: str, index: int, image: ScoredImage) -> Trace:
        """Run one system on one image."""
        if system in SYSTEMS and SYSTEMS[system].anytime:
            return self._anytime(system, index, image)
        assert self.fitted is not None
        alpha = loss_weight(self._trained)
        if self._job.clock == WALL_CLOCK:
            return trace_fitted_by_clock(self.fitted, system, image, alpha)
        seen = prepare_image(image.scene, self.fitted.bank, len(self._dataset.classes), self._cache)
        return trace_fitted(self.fitted, system, seen, alpha)

    def _anytime(self, system: str, index: int, image: ScoredImage) -> Trace:
        trained, alpha = self._trained, loss_weight(self._trained)
        upfront = self._job.segmentation == UPFRONT
        if system == "dnmd":
            plans = [StaticPolicy(plan.actions) for plan in trained.plans]
            return join_ends([self._by_policy(plan, image, alpha, upfront) for plan in plans])
        policy = policy_for(system, trained, image, self._bank, index)
        return self._by_policy(policy, image, alpha, upfront)

    def _by_policy(self, policy: Policy, image: ScoredImage, alpha: float, upfront: bool) -> Trace:
        """Run a policy by the clock that was asked for."""
        if self._job.clock == MODEL_CLOCK:
            return trace_by_costs(self._trained.model, policy, image, self._bank, alpha, upfront)
        engine = Engine(replace(self._learned, policy=policy), self._foresight, self._bank)
        return trace_by_clock(engine, image, self._bank, alpha, upfront)

    @cached_property
    def _learned(self) -> Learned:
        return learned_from(self._trained)

    @cached_property
    def _foresight(self) -> Foresight:
        """What steps take here; whatever compiles or allocates is done before anything is timed."""
        keep_freed_memory()
        found = foresight_for(self._learned, self._bank)
        for policy in (self._learned.policy, StaticPolicy(self._trained.static)):
            Engine(replace(self._learned, policy=policy), found, self._bank).warm_up()
        return found
