"""From a model's name or file to an engine that is ready to label."""

from __future__ import annotations

import logging
from dataclasses import replace
from importlib import resources
from pathlib import Path

from safetensors import SafetensorError
from safetensors.numpy import load_file

from anyscene.data.classes import Classes
from anyscene.data.palettes import told_apart
from anyscene.engine.engine import Engine
from anyscene.engine.learned import Learned
from anyscene.engine.ready import prepare
from anyscene.errors import ModelError, did_you_mean
from anyscene.familiarity import FAMILIARITY, Familiarity
from anyscene.features import Bank, bank_from_arrays
from anyscene.features.hypercolumn.ladder import RungScores
from anyscene.features.hypercolumn.network import Network, glance_width, head_from_arrays
from anyscene.features.hypercolumn.rung import networks_among, rungs_among
from anyscene.model.actions import Pool
from anyscene.modelfile import TrainedModel, load_model
from anyscene.named_arrays import under
from anyscene.policy import stream_section
from anyscene.policy.policies import LearnedPolicy, Policy, StaticPolicy
from anyscene.policy.stream_section import StreamSection

logger = logging.getLogger(__name__)

SUFFIX = ".anyscene"
POLICY, STATIC = "D-NM", "S-M"

MOST_LOST = 0.001
"""A policy is followed to its end only if it ends with at most this share of the pixels fewer right."""

DEFAULT_MODEL = "stanford"
"""The shipped model that labels when none is named: its scenes are the most varied."""


def load(model: str | Path | None = None, threads: int = 1) -> Engine:
    """Load a model, `load("camvid")` or `load("my.anyscene")`, ready to label within any deadline.

    The first time on a machine, what every step costs there is measured, which takes 15 seconds or more;
    `anyscene calibrate` does it again and more thoroughly. model : None for the default one, for outdoor
    photos. threads : CPU threads to use.
    """
    return prepare(learned_for(model), threads)


def learned_for(model: str | Path | None) -> Learned:
    """Read what training left behind in a model that is given by its name or by its path."""
    path = find_model(model)
    trained = load_model(path)
    logger.info("loaded %s: %d classes, %d plans", path, len(trained.classes), len(trained.plans))
    return replace(
        learned_from(trained),
        familiarity=familiarity_for(trained, path),
        stream=stream_policy_for(trained, path),
    )


def shipped_models() -> dict[str, Path]:
    """The models that come with anyscene, by name."""
    folder = Path(str(resources.files("anyscene"))) / "models"
    return {path.stem: path for path in sorted(folder.glob(f"*{SUFFIX}"), key=lambda path: path.stem)}


def find_model(model: str | Path | None) -> Path:
    """Return the file of a model that is given by its name or path; None stands for the default model."""
    model = DEFAULT_MODEL if model is None else model
    shipped = shipped_models()
    if str(model) in shipped:
        return shipped[str(model)]
    path = Path(model).expanduser()
    if path.is_file():
        return path
    known = f"those that ship are {', '.join(shipped)}" if shipped else "none ships with this installation"
    raise ModelError(
        f"there is no model and no file '{model}'; {known}; `anyscene train` makes your own"
        f"{did_you_mean(str(model), shipped)}"
    )


def learned_from(trained: TrainedModel) -> Learned:
    """Take from a model file what labeling needs."""

    def make_bank(threads: int) -> Bank:
        return bank_of(trained, threads)

    temperature = float(trained.record.get("temperature", 1.0))
    if POLICY not in trained.policies:
        raise ModelError(f"the model has no policy '{POLICY}', so it cannot label; train it anew")
    policy, policy_ms = without_a_limit(trained)
    return Learned(
        trained.model,
        policy,
        make_bank,
        drawn_classes(trained),
        temperature,
        trained.plans,
        policy_ms,
    )


def without_a_limit(trained: TrainedModel) -> tuple[Policy, float | None]:
    """Who chooses where there is no limit, and what that typically takes by the model's costs.

    It is the policy, which is good at any moment before the end. If it looks at states and the static
    sequence ended with more pixels right on held-out images, it is the last plan: no limit must not give less
    than a long one.
    """
    policy = trained.policies[POLICY]
    held_out = trained.record.get("held out", {})
    own, static = (held_out.get(name, {}) for name in (POLICY, STATIC))
    lost = float(static.get("final accuracy", 0.0)) - float(own.get("final accuracy", 1.0))
    if isinstance(policy, LearnedPolicy) and trained.plans and lost > MOST_LOST:
        last = trained.plans[-1]
        return StaticPolicy(last.actions), last.cost[-1]
    return policy, own.get("final cost in ms")


def familiarity_for(trained: TrainedModel, path: Path) -> Familiarity | None:
    """What images of a model's training set look like: from its file, or from one beside it."""
    own = under(FAMILIARITY, trained.features)
    beside = path.with_suffix(f".{FAMILIARITY}")
    try:
        if not own and beside.exists():
            own = load_file(beside)
        width = glance_width(trained.features, networks_among(trained.model.pool.sets))
        return Familiarity.from_arrays(own, width) if own else None
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise ModelError(
            f"what {path} is familiar with cannot be read ({error}); get or train it anew"
        ) from error


def stream_policy_for(trained: TrainedModel, path: Path) -> StreamSection | None:
    """A model's policy for streams: from its file, or from one beside it."""
    beside = path.with_suffix(stream_section.SUFFIX)
    if trained.stream is not None or not beside.exists():
        return trained.stream
    try:
        return stream_section.read_section(beside)
    except (OSError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise ModelError(
            f"the stream policy {beside} cannot be read ({reason}); get or learn it anew"
        ) from error


def drawn_classes(trained: TrainedModel) -> Classes:
    """The classes of a model, in colours that can be told apart."""
    return Classes(trained.classes.names, told_apart(trained.classes.palette))


def bank_of(trained: TrainedModel, threads: int = 1) -> Bank:
    """Return the feature sets of a model; its networks use this many threads."""
    names = trained.model.pool.sets
    rungs = rungs_among(names)
    bank = dict(bank_from_arrays([name for name in names if name not in rungs], trained.features))
    networks = {name: Network(graph, threads) for name, graph in trained.graphs.items()}
    for name, rung in rungs.items():
        head, speaks = head_from_arrays(trained.features, len(trained.classes), rung.network)
        rows = head.first_rows(columns_read(trained.model.pool, name))
        bank[name] = RungScores(networks[rung.network], rows, rung, speaks)
    return {name: bank[name] for name in names}


def columns_read(pool: Pool, name: str) -> int:
    """How many of the first columns of a feature set hold all that weak learners look at."""
    inputs = [chain.column[chain.source == pool.sets.index(name)] for chain in pool.chains]
    return 1 + max((int(columns.max()) for columns in inputs if len(columns)), default=-1)
