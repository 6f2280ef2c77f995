"""Running a system on an image, with all that one process needs for it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from anyscene.costs.deadline import LocalCosts
from anyscene.data import DataSet
from anyscene.data import open as open_data
from anyscene.engine import Engine
from anyscene.engine.learned import Learned
from anyscene.engine.loading import POLICY, bank_of, learned_from
from anyscene.engine.ready import known_or_measured
from anyscene.evaluation.anytime_traces import loss_weight, policy_for, trace_by_clock, trace_by_costs
from anyscene.evaluation.baseline_traces import trace_baseline, trace_baseline_by_clock
from anyscene.evaluation.baselines.fitted import FittedBaselines
from anyscene.evaluation.compared_systems import BY_KEY
from anyscene.evaluation.request import MODEL_CLOCK, WALL_CLOCK
from anyscene.evaluation.scored_image import ScoredImage, prepare_image
from anyscene.evaluation.traces import Trace, join_ends
from anyscene.features.cache import FeatureCache
from anyscene.features.memory import keep_freed_memory
from anyscene.files import cache_dir
from anyscene.modelfile import load_model
from anyscene.policy.policies import Policy, StaticPolicy


@dataclass(frozen=True)
class Job:
    """What is scored, as every process needs it.

    indices : the positions of the images in the split. work : the folder that traces are kept in.
    upfront : whether the tree grows before the first action; by the wall clock only.
    baselines : the folder of the fitted baselines, if any are wanted.
    """

    data: str
    split: str
    model: Path
    work: Path
    indices: tuple[int, ...]
    clock: str
    upfront: bool
    baselines: Path | None

    @cached_property
    def model_hash(self) -> str:
        """Names the model by its bytes."""
        return hashlib.sha256(self.model.read_bytes()).hexdigest()


class ImageTracer:
    """Runs systems on the images of a job; what a system needs is loaded when it first runs."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._trained = load_model(job.model)
        self._dataset: DataSet = open_data(job.data)
        self._scenes = self._dataset.split(job.split)
        self._cache = FeatureCache(cache_dir() / "features")
        self._bank = bank_of(self._trained)

    @cached_property
    def fitted(self) -> FittedBaselines | None:
        """The fitted baselines."""
        folder = self._job.baselines
        return FittedBaselines.load(folder, len(self._dataset.classes)) if folder else None

    def image(self, index: int) -> ScoredImage:
        """An image of the split with the model's features."""
        return prepare_image(self._scenes[index], self._bank, len(self._dataset.classes), self._cache)

    def trace(self, system: str, index: int, image: ScoredImage) -> Trace:
        """Run one system on one image."""
        if BY_KEY[system].anytime:
            return self._anytime(system, index, image)
        assert self.fitted is not None
        alpha = loss_weight(self._trained)
        if self._job.clock == WALL_CLOCK:
            return trace_baseline_by_clock(self.fitted, system, image, alpha)
        seen = prepare_image(image.scene, self.fitted.bank, len(self._dataset.classes), self._cache)
        return trace_baseline(self.fitted, system, seen, alpha)

    def _anytime(self, system: str, index: int, image: ScoredImage) -> Trace:
        trained, alpha = self._trained, loss_weight(self._trained)
        if system == "dnmd":
            plans = [StaticPolicy(plan.actions) for plan in trained.plans]
            return join_ends([self._by_policy(plan, image, alpha) for plan in plans])
        policy = policy_for(system, trained, image, self._bank, index)
        return self._by_policy(policy, image, alpha)

    def _by_policy(self, policy: Policy, image: ScoredImage, alpha: float) -> Trace:
        """Run a policy by the clock that was asked for."""
        if self._job.clock == MODEL_CLOCK:
            return trace_by_costs(self._trained.model, policy, image, self._bank, alpha)
        engine = Engine(replace(self._learned, policy=policy), self._local_costs, self._bank)
        return trace_by_clock(engine, image, self._bank, alpha, self._job.upfront)

    @cached_property
    def _learned(self) -> Learned:
        return learned_from(self._trained)

    @cached_property
    def _local_costs(self) -> LocalCosts:
        """What steps take on this machine; all that compiles or allocates is done before it is timed."""
        keep_freed_memory()
        found = known_or_measured(self._learned, self._bank)
        for policy in (self._trained.policies[POLICY], StaticPolicy(self._trained.static)):
            Engine(replace(self._learned, policy=policy), found, self._bank).warm_up()
        return found
