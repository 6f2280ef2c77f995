"""The bench `learning`: the learned policy against static and random ones, weak learners against LightGBM.

Without data: three seeds on generated streets. With data: the same comparison on its split (`val`), trained
on `train` alone as the model that ships for it was, and on the halves `a` and `b` crosswise. A model file
given with --model is compared instead, on the split alone.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.data import DataSet, Scene
from anyscene.data import open as open_data
from anyscene.engine.loading import bank_of, shipped_models
from anyscene.features import Bank
from anyscene.features.cache import FeatureCache
from anyscene.features.hypercolumn.backbone import read_backbone, shipped_backbone
from anyscene.features.hypercolumn.ladder import HonestLadder
from anyscene.features.hypercolumn.rung import rungs_among
from anyscene.files import cache_dir
from anyscene.learning.banks import choose_head
from anyscene.learning.config import TrainConfig
from anyscene.learning.extraction import Extract, extract
from anyscene.learning.train import train
from anyscene.model.evidence import ArrayEvidence
from anyscene.modelfile import TrainedModel, load_model
from anyscene.policy.curves import NEARLY, accuracy_at, cost_to_reach
from anyscene.policy.oracle import Oracle
from anyscene.policy.policies import Policy, RandomPolicy, StaticPolicy
from anyscene.policy.rollout import Trajectory, rollout
from benchmarks.boosting_parity import parity_with_lightgbm
from benchmarks.figures import Bar, Figure, Request

SEEDS = (0, 1, 2)
STREETS = "streets:200?seed={seed}"
STREETS_CONFIG = TrainConfig(
    sets=("color", "position", "lbp", "hog"),
    samples=30_000,
    screening_samples=8_000,
    columns=32,
    clusters=2,
    steps=14,
    guide_rounds=4,
    guide_images=16,
    explored=40,
    iterations=2,
    patience=1,
    prune_images=6,
    pool=48,
)
ORACLE_IMAGES = 6
"""An oracle tries every action to its end in every state; some images are enough to see where it lies."""

BY_DEADLINE = "D-NM by deadline"
"""What the engine does when it is told the budget beforehand: at each budget, the best plan that fits."""

BLOCK = 20
"""Frames that are drawn together in the bootstrap: neighbours in a video are not independent."""

LARGER = 0.001
"""Points by which an area that is to be larger must exceed another: a tie is none."""


def run(request: Request) -> Iterator[Figure]:
    """Compare policies on streets, or on the data that was asked for."""
    with tempfile.TemporaryDirectory() as folder:
        if request.data is None or request.data.startswith("streets"):
            yield from _streets_figures(Path(folder))
        else:
            yield from _data_figures(request, Path(folder))
        yield parity_with_lightgbm(open_data(request.data or STREETS.format(seed=0)), request.split or "val")


def _streets_figures(folder: Path) -> Iterator[Figure]:
    parts: dict[str, Any] = {}
    seconds = []
    for seed in SEEDS:
        data = open_data(STREETS.format(seed=seed + 1))
        begun = time.perf_counter()
        trained = train(data, folder / f"{seed}.anyscene", STREETS_CONFIG, seed, network=False)
        seconds.append(time.perf_counter() - begun)
        runs = compare(trained, data, "val")
        parts[f"seed {seed}"] = areas(runs)
    bars = (("D-NM", "S-M", LARGER), ("S-M", "RS", LARGER), ("oracle", "D-NM of the same images", 0.0))
    for better, worse, least in bars:
        margin = min(part[better] - part[worse] for part in parts.values())
        yield Figure(
            f"streets: area of {better} less that of {worse}, least of {len(SEEDS)} seeds",
            Bar("at least", least),
            100 * margin,
            unit="points",
            parts=parts,
        )
    yield Figure("streets: longest training", Bar("at most", 180.0), max(seconds), "s", {"seconds": seconds})


def _data_figures(request: Request, folder: Path) -> Iterator[Figure]:
    assert request.data is not None
    data, split = open_data(request.data), request.split or "val"
    if request.model:
        yield from _curve_figures(
            compare(load_model(Path(request.model)), data, split), f"{data.name} {split}"
        )
        return
    config, network = _as_shipped(data.name)
    for fitted, judged in (("train", split), ("a", "b"), ("b", "a")):
        begun = time.perf_counter()
        trained = train(
            data,
            folder / f"{fitted}.anyscene",
            config,
            split=fitted,
            network=network is not None,
            backbone=network,
        )
        seconds = time.perf_counter() - begun
        runs = compare(trained, data, judged, network)
        yield from _curve_figures(runs, f"{fitted} judged on {judged}", held=judged == split)
        if fitted == "train":
            yield Figure("training, with whatever was cached", Bar("at most", 1800.0), seconds, "s")


def _as_shipped(name: str) -> tuple[TrainConfig, Path | None]:
    """The settings and the network of the model that ships for a data set; for others the usual, and none."""
    model = shipped_models().get(name)
    if model is None:
        return TrainConfig(), None
    return TrainConfig(**load_model(model).record["config"]), shipped_backbone(name)


def compare(
    trained: TrainedModel, data: DataSet, split: str, network: Path | None = None
) -> dict[str, list[Trajectory]]:
    """Run every policy on the scenes of a split; the oracle on a few, `D-NM of the same images` beside it.

    network : the backbone of the model, where it may have seen the scenes: a part that has not looks at them.
    """
    cache = FeatureCache(cache_dir() / "features")
    bank_for = honest_banks(trained, network)
    scenes = [scene for scene in data.split(split) if scene.truth is not None]
    extracts = [extract(scene, bank_for(scene), len(data.classes), cache) for scene in scenes]
    random = np.random.default_rng(0)
    policies: dict[str, Policy] = {
        **trained.policies,
        "S-M": StaticPolicy(trained.static),
        "RS": RandomPolicy(random),
    }
    alpha = float(trained.record["config"]["alpha"])
    runs = {
        name: [rollout(trained.model, policy, _evidence(e), e.truth, alpha) for e in extracts]
        for name, policy in policies.items()
    }
    runs[BY_DEADLINE] = [_ends_of_plans(trained, e, alpha) for e in extracts]
    few = range(0, len(extracts), max(1, len(extracts) // ORACLE_IMAGES))
    budgets = _budgets(runs)
    runs["oracle"] = [_oracle_run(trained, extracts[i], alpha, budgets) for i in few]
    runs["D-NM of the same images"] = [runs["D-NM"][i] for i in few]
    return runs


def honest_banks(trained: TrainedModel, network: Path | None) -> Callable[[Scene], Bank]:
    """For each scene the model's sets; with a network, rungs of a part of it that has not seen the scene."""
    own = bank_of(trained)
    if network is None:
        return lambda scene: own
    rungs = rungs_among(own).values()
    backbone = read_backbone(network)
    head, speaks = choose_head(backbone, trained.classes.names)
    embedding = TrainConfig(**trained.record["config"]).looks_at_embedding
    ladder = HonestLadder(backbone, head, rungs, speaks=speaks, bare=speaks and not embedding)
    return lambda scene: {**own, **ladder.for_image(scene.image)}


def areas(runs: Mapping[str, Sequence[Trajectory]]) -> dict[str, float]:
    """Area under each policy's curve over log cost, from the first label to D-NM's or S-M's full cost."""
    budgets = _budgets(runs)
    return {name: float(_curves(run, budgets).mean()) for name, run in runs.items()}


def _curve_figures(
    runs: Mapping[str, Sequence[Trajectory]], where: str, held: bool = True
) -> Iterator[Figure]:
    """The learned policy's curve against the static one's; bars only where they are to be held."""
    yield from _against_static(runs, "D-NM", where, held)
    gap = areas(runs)
    yield Figure(
        f"{where}: area of the oracle less that of D-NM",
        None,
        100 * (gap["oracle"] - gap["D-NM of the same images"]),
        "points",
    )
    yield from _against_static(runs, BY_DEADLINE, where, held)


def _against_static(
    runs: Mapping[str, Sequence[Trajectory]], system: str, where: str, held: bool
) -> Iterator[Figure]:
    """Area, largest shortfall and cost of a system beside S-M's, each with its 95 % interval."""
    budgets = _budgets(runs)
    learned, static = _curves(runs[system], budgets), _curves(runs["S-M"], budgets)
    values = _compared(learned.mean(axis=0), static.mean(axis=0), budgets)
    low, high = _bootstrap(learned, static, budgets)
    curves: dict[str, Any] = {
        "areas": areas(runs),
        "budgets in ms": budgets[::16].tolist(),
        system: learned.mean(axis=0)[::16].tolist(),
        "S-M": static.mean(axis=0)[::16].tolist(),
    }
    asked: tuple[tuple[str, Bar, str, dict[str, Any]], ...] = (
        (f"area of {system} less that of S-M", Bar("at least", LARGER), "points", curves),
        (f"largest shortfall of {system} against S-M", Bar("at most", 0.3), "points", {}),
        (f"cost of {system} for S-M's best accuracy less 0.1 points", Bar("at most", 0.6), "x", {}),
    )
    for i, (what, bar, unit, parts) in enumerate(asked):
        # JSON knows no infinity: None where S-M's best may never be reached.
        interval = {"95 % interval": [float(end) if np.isfinite(end) else None for end in (low[i], high[i])]}
        yield Figure(f"{where}: {what}", bar if held else None, values[i], unit, {**parts, **interval})


def _compared(
    learned: NDArray[np.float64], static: NDArray[np.float64], budgets: NDArray[np.float64]
) -> tuple[float, float, float]:
    """Area of a curve less that of S-M's and its largest shortfall, in points; its cost for S-M's best."""
    difference = 100 * (learned - static)
    wanted = static.max() - NEARLY
    cost = cost_to_reach(learned, budgets, wanted) / cost_to_reach(static, budgets, wanted)
    return float(difference.mean()), max(0.0, -float(difference.min())), cost


def _evidence(made: Extract) -> ArrayEvidence:
    return ArrayEvidence(made.tree, made.features)


def _oracle_run(
    trained: TrainedModel, made: Extract, alpha: float, budgets: NDArray[np.float64]
) -> Trajectory:
    evidence = _evidence(made)
    oracle = Oracle(trained.model, trained.policies["D-NM"], evidence, made.truth, budgets)
    return rollout(trained.model, oracle, evidence, made.truth, alpha)


def _ends_of_plans(trained: TrainedModel, made: Extract, alpha: float) -> Trajectory:
    """Where each plan ends on an image, after the state that all of them begin with."""
    evidence = _evidence(made)
    runs = [
        rollout(trained.model, StaticPolicy(plan.actions), evidence, made.truth, alpha)
        for plan in trained.plans
    ]
    cost, loss, accuracy = (
        np.array([getattr(runs[0], part)[0], *(getattr(run, part)[-1] for run in runs)])
        for part in ("cost", "loss", "accuracy")
    )
    return Trajectory(np.arange(len(runs)), np.maximum.accumulate(cost), loss, accuracy)


def _budgets(runs: Mapping[str, Sequence[Trajectory]]) -> NDArray[np.float64]:
    both = [*runs["D-NM"], *runs["S-M"]]
    first = min(run.cost[1] for run in both if len(run.actions))
    return np.geomspace(first, max(run.cost[-1] for run in both), 256)


def _curves(runs: Sequence[Trajectory], budgets: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([accuracy_at(run, budgets) for run in runs])


def _bootstrap(
    learned: NDArray[np.float64],
    static: NDArray[np.float64],
    budgets: NDArray[np.float64],
    rounds: int = 2000,
) -> NDArray[np.float64]:
    """The ends of the 95 % intervals of what `_compared` says, drawing whole blocks of neighbouring images.

    learned, static : each image's curve. Returns float64[2, 3].
    """
    starts = np.arange(0, len(learned), BLOCK)
    ours, theirs = (np.add.reduceat(curves, starts, axis=0) for curves in (learned, static))
    sizes = np.diff(starts, append=len(learned))
    random = np.random.default_rng(0)
    drawn = random.integers(0, len(starts), (rounds, len(starts)))
    values = []
    for blocks in drawn:
        images = sizes[blocks].sum()
        values.append(
            _compared(ours[blocks].sum(axis=0) / images, theirs[blocks].sum(axis=0) / images, budgets)
        )
    return np.asarray(np.quantile(values, (0.025, 0.975), axis=0, method="nearest"))
