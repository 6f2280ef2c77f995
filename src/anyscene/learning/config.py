"""Every choice of a training run, with its default and its meaning; config files are TOML of these."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from anyscene.errors import ConfigError, what_is_wrong
from anyscene.features.hypercolumn.rung import RUNGS, Rung
from anyscene.learning.learners.boosting import BoostingSettings
from anyscene.learning.learners.weak_learners import LearnerSettings
from anyscene.learning.policy.policy_iteration import IterationSettings
from anyscene.learning.proposals.greedy import GreedySettings
from anyscene.learning.proposals.static_sequence import ProposalSettings


class TrainConfig(BaseModel):
    """How a model is learned.

    Examples:
        >>> anyscene.TrainConfig(bundles=[5, 10]).bundles
        (5, 10)

    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, **settings: Any) -> None:
        """Take settings by name; a wrong one is one sentence."""
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise ConfigError(what_is_wrong(error, type(self).model_fields)) from error

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        """Yield what differs from the defaults: all settings would take many lines."""
        for name, setting in type(self).model_fields.items():
            if (value := getattr(self, name)) != setting.default:
                yield name, value

    sets: tuple[str, ...] = Field((), description="feature sets to learn with; none: all that help")
    images: int = Field(0, ge=0, description="learn from at most so many images, evenly spaced; 0: all")
    rungs: tuple[str, ...] = Field(
        tuple(rung.short for rung in RUNGS),
        min_length=1,
        description="networks' inputs: width in thousandths, s667: squeezed, m: mirrored; large@1000 for a "
        "network that is called large",
    )

    detail: bool = Field(
        True,
        description="maps show detail within leaves; false: a leaf shows one label, as in the paper",
    )
    alpha: float = Field(0.5, ge=0, description="weight of the regions' impurity in the loss (Eq. 3)")
    gammas: tuple[float, ...] = Field((0.2,), min_length=1, description="how much later rewards count: tried")
    thresholds: tuple[float, ...] = Field(
        (0.0, 0.3, 0.6, 1.0), min_length=1, description="of splits, in nats"
    )
    lambdas: tuple[float, ...] = Field(
        (0.0, 0.3, 0.9), min_length=1, description="weights of cost in proposals"
    )
    bundles: tuple[int, ...] = Field(
        (1, 5, 10, 20), min_length=1, description="sizes of bundles of weak learners"
    )
    steps: int = Field(32, ge=1, le=200, description="most actions of a static sequence")
    clusters: int = Field(3, ge=0, le=50, description="groups of images with sequences of their own")
    guide_rounds: int = Field(6, ge=0, description="most changes on the way to the guide")
    guide_images: int = Field(
        32,
        ge=1,
        description="held-out images that judge the guide, beside as many fitted; twice as many, plans",
    )
    pool: int = Field(64, ge=8, le=1000, description="actions kept in the pool")
    prune_images: int = Field(12, ge=1, description="held-out images that judge which actions are kept")

    samples: int = Field(60_000, ge=100, description="regions that a chain of weak learners is fitted to")
    screening_samples: int = Field(15_000, ge=100, description="regions that feature sets are tried on")
    columns: int = Field(48, ge=2, le=2000, description="most inputs that a chain chooses from")
    depth: int = Field(4, ge=1, le=8, description="of the trees")
    shrinkage: float = Field(0.3, gt=0, le=1, description="share of a full step that each tree takes")
    regularisation: float = Field(5.0, gt=0, description="rows of mean curvature added to every leaf")
    least_curvature: float = Field(
        10.0, ge=0, description="rows of mean curvature on either side of a cut, at least"
    )
    column_share: float = Field(
        0.7, gt=0, le=1, description="share of the columns that each cut of a tree chooses from"
    )

    rare_power: float = Field(0.3, ge=0, le=1, description="a class counts its share to minus this in blends")

    iterations: int = Field(4, ge=1, description="most rounds of policy iteration")
    patience: int = Field(2, ge=1, description="rounds without improvement before it stops")
    noise: float = Field(0.1, ge=0, le=1, description="share of random actions while exploring")
    beta: float = Field(1e-3, gt=0, description="weight of the ridge in the regression of Q")
    explored: int = Field(120, ge=1, description="images explored in a round of policy iteration, at most")
    threads: int = Field(
        2, ge=1, le=256, description="threads to learn with; part of what makes runs repeatable"
    )

    @model_validator(mode="after")
    def _check(self) -> TrainConfig:
        if any(size < 1 or size > 1000 for size in self.bundles):
            raise ValueError("bundles must be between 1 and 1000")
        for rung in self.rungs:
            try:
                Rung.parse(rung)
            except ConfigError as error:
                raise ValueError(str(error)) from error
        if any(threshold < 0 for threshold in self.thresholds):
            raise ValueError("thresholds must not be negative")
        if any(not 0 <= gamma <= 1 for gamma in self.gammas):
            raise ValueError("gammas must be between 0 and 1")
        if any(factor < 0 for factor in self.lambdas):
            raise ValueError("lambdas must not be negative")
        return self

    @property
    def looks_at_embedding(self) -> bool:
        """Whether trees look at the network's embedding.

        In the paper's setting they look at its class scores alone. These mean the same in every part of a
        backbone. The columns of an embedding do not: trees fitted to one part's mislead on another's.
        """
        return self.detail and max(self.bundles) > 1

    def proposals(self) -> ProposalSettings:
        """The part that action proposals need."""
        learners = LearnerSettings(
            sizes=tuple(sorted(set(self.bundles))),
            samples=self.samples,
            screening_samples=self.screening_samples,
            columns=self.columns,
            rare_power=self.rare_power,
            boosting=self._boosting(),
        )
        return ProposalSettings(
            thresholds=tuple(sorted(set(self.thresholds))),
            lambdas=self.lambdas,
            max_steps=self.steps,
            alpha=self.alpha,
            threads=self.threads,
            learners=learners,
        )

    def courses(self) -> GreedySettings:
        """The part that greedy courses of the paper's setting need."""
        return GreedySettings(
            thresholds=tuple(sorted(set(self.thresholds))),
            sizes=tuple(sorted(set(self.bundles))),
            alpha=self.alpha,
            steps=self.steps,
            samples=self.samples,
            screening_samples=self.screening_samples,
            boosting=self._boosting(),
        )

    def _boosting(self) -> BoostingSettings:
        return BoostingSettings(
            depth=self.depth,
            shrinkage=self.shrinkage,
            regularisation=self.regularisation,
            least_curvature=self.least_curvature,
            column_share=self.column_share,
        )

    def iteration(self) -> IterationSettings:
        """The part that policy iteration needs."""
        return IterationSettings(
            beta=self.beta,
            noise=self.noise,
            iterations=self.iterations,
            patience=self.patience,
        )


def read_config(path: Path) -> TrainConfig:
    """Read a config file; anything wrong in it is one sentence."""
    try:
        settings = tomllib.loads(path.read_text())
    except OSError as error:
        raise ConfigError(f"cannot read the config {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"the config {path} is not valid TOML: {error}") from error
    try:
        return TrainConfig(**settings)
    except ConfigError as error:
        raise ConfigError(f"the config {path}: {error}") from error
