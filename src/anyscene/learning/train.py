"""From a data set to a model file, in stages that a killed run does not repeat."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import anyscene
from anyscene.costs.cost_file import measure_costs, read_costs
from anyscene.data import DataSet, SceneList
from anyscene.data import open as open_data
from anyscene.errors import ConfigError, DataError
from anyscene.familiarity import FAMILIARITY
from anyscene.features import bank_to_arrays, list_feature_sets
from anyscene.features.hypercolumn.rung import Rung
from anyscene.learning.banks import (
    Backbones,
    check_networks,
    fit_banks,
    load_banks,
    named_backbones,
    restrict,
    usual_sets,
)
from anyscene.learning.config import TrainConfig
from anyscene.learning.corpus_building import Ahead, build_corpus
from anyscene.learning.familiar import familiarity_of
from anyscene.learning.helpers import Helpers, Here, Report
from anyscene.learning.parallel import map_threads
from anyscene.learning.policy.policies import constant, fit_temperature, learn_policies, run_all
from anyscene.learning.proposals.planning import end_with_guide
from anyscene.learning.proposals.pool import Proposals
from anyscene.learning.proposals.propose import propose
from anyscene.learning.run_folder import RunFolder
from anyscene.modelfile import TrainedModel, save_model
from anyscene.named_arrays import under
from anyscene.policy.curves import area_over_log_cost, budget_grid, mean_curve
from anyscene.policy.policies import Policy, StaticPolicy
from anyscene.policy.rollout import Trajectory
from anyscene.policy.storage import StoredPolicy, policy_from_arrays, policy_to_arrays

STAGES = 6
"""To be raised when stages leave something else behind: a run of before cannot be gone on with."""

FEWEST = 8
"""Images that learning needs at least: some to fit to, some to judge by."""


class Spread(Protocol):
    """Other machines that help."""

    @property
    def helpers(self) -> Helpers:
        """Those who propose sequences and explore."""
        ...

    def extraction(
        self,
        data: DataSet,
        names: Sequence[str],
        arrays: Mapping[str, NDArray[Any]],
        backbones: Backbones,
        config: TrainConfig,
    ) -> Ahead:
        """Let them extract features. names, arrays : of the feature sets, and what these have learned."""
        ...


def train(
    dataset: DataSet | str,
    out: str | Path,
    config: TrainConfig | None = None,
    seed: int = 0,
    *,
    split: str = "train",
    restart: bool = False,
    run: str | Path | None = None,
    network: bool = True,
    backbone: str | Path | Mapping[str, str | Path] | None = None,
    costs: str | Path | None = None,
    report: Report = lambda stage, done, total, note: None,
    spread: Spread | None = None,
) -> TrainedModel:
    """Learn a model from one split of a data set and write it to `out`.

    The same data, config, seed, thread count and costs give the same file, bit for bit, on one machine.

    dataset : an open data set, or what `anyscene.data.open` takes.
    run : folder of the run (default: `out` with `.run` after it). A run that was stopped goes on.
    restart : begin anew, whatever is in that folder.
    network : learn with the hypercolumn's network; without it from the other feature sets alone.
    backbone : file of that network (default: the one that ships); with several networks, a file for each,
        by the names that `config.rungs` calls them.
    costs : a cost file of another run to use instead of measuring this machine (`RUN/costs.json`).
    spread : other machines that extract features, propose sequences and explore, see `anyscene.cluster`.

    Examples:
        >>> streets = anyscene.data.open("streets:20?size=120x90")
        >>> quick = anyscene.TrainConfig(sets=["color", "position"], steps=6, clusters=0, iterations=1)
        >>> trained = anyscene.train(streets, "small.anyscene", quick, network=False)  # seconds
        >>> anyscene.load("small.anyscene").label(streets.split("val")[0].image).labels.shape
        (90, 120)

    """
    config = config or TrainConfig()
    out = Path(out)
    dataset = open_data(dataset) if isinstance(dataset, str) else dataset
    data = restrict(dataset, split)
    given = _fingerprint(Path(costs)) if costs else ""
    backbones = named_backbones(backbone, dataset.name) if network else {}
    if backbones:
        check_networks(backbones, map(Rung.parse, config.rungs), config.sets or list_feature_sets())
    report("reading", 0, 1, "")
    images, labelled = _read_scenes(data.split("train"), config.threads)
    if (usable := min(labelled, config.images or labelled)) < FEWEST:
        raise DataError(
            f"{data.name} has {usable} labelled images to learn from; training needs at least {FEWEST}"
        )
    report("reading", 1, 1, "")
    identity = {
        "version": f"{anyscene.__version__}, stages {STAGES}",
        "data set": data.name,
        "set of images and labels": images,
        "config": config.model_dump(mode="json"),
        "seed": seed,
        "backbone": {name: _fingerprint(file) for name, file in backbones.items()},
        "cost file": given,
    }
    folder = RunFolder(Path(run) if run else out.with_name(out.name + ".run"), identity, restart)
    # Threads are ours to share out: libraries that start their own would oversubscribe.
    with threadpool_limits(1):
        cv2.setNumThreads(1)
        trained = _stages(data, folder, config, seed, backbones, costs, report, spread)
    save_model(out, trained)
    report("model", 1, 1, str(out))
    return trained


def _stages(
    data: DataSet,
    folder: RunFolder,
    config: TrainConfig,
    seed: int,
    backbones: Backbones,
    costs: str | Path | None,
    report: Report,
    spread: Spread | None = None,
) -> TrainedModel:
    bank_seed, proposal_seed, policy_seed = np.random.SeedSequence(seed).spawn(3)
    report("feature sets", 0, 1, "fitting")
    sets = config.sets or usual_sets(data.classes.names, backbones)
    arrays = folder.arrays(
        "bank", lambda: fit_banks(data, sets, np.random.default_rng(bank_seed)) or _nothing()
    )
    embedding = config.looks_at_embedding
    banks = load_banks(data, sets, arrays, backbones, 1, embedding, map(Rung.parse, config.rungs))
    report("feature sets", 1, 1, ", ".join(banks.names))
    measured = folder.document(
        "costs", lambda: read_costs(costs) if costs else measure_costs(banks.whole, data)
    )
    ahead = spread.extraction(data, sets, arrays, backbones, config) if spread else None
    corpus, prices = build_corpus(data, banks, config, measured, report, ahead)
    helpers = spread.helpers if spread else Here(config.threads, report)
    proposals = propose(corpus, prices, config, folder, proposal_seed, report, helpers)
    policies = learn(proposals, config, folder, policy_seed, report, helpers)
    model = proposals.model
    runs = _held_out_runs(proposals, policies, config.threads)
    network_arrays, graphs = banks.networks()
    learned = familiarity_of(data, banks.whole, config.threads).to_arrays()
    familiar = {f"{FAMILIARITY}/{name}": array for name, array in learned.items()}
    record = {
        "data": data.name,
        "images fitted": len(corpus.fit),
        "images held out": len({e.id for e in corpus.held_out} - {e.id for e in corpus.fit}),
        "seed": seed,
        "config": config.model_dump(mode="json"),
        "anyscene": anyscene.__version__,
        "temperature": fit_temperature(model, policies["D-NM"]),
        "held out": _figures(runs),
        "held-out curve": _curve(runs["D-NM"]),
    }
    return TrainedModel(
        classes=data.classes,
        model=model.deployed(),
        policies=policies,
        static=proposals.sequences[0],
        plans=end_with_guide(proposals, policies["D-NM"].guide, config.threads),
        features={**bank_to_arrays(banks.crossfit.whole), **network_arrays, **familiar},
        graphs=graphs,
        record=record,
    )


def learn(
    proposals: Proposals,
    config: TrainConfig,
    folder: RunFolder,
    seed: np.random.SeedSequence,
    report: Report,
    helpers: Helpers,
) -> dict[str, StoredPolicy]:
    """The learned policies by name."""

    def on_iteration(gamma: float, iteration: int, worth: float) -> None:
        note = f"worth {worth:.4f} on held-out images"
        report(f"policy, gamma {gamma:g}", iteration + 1, config.iterations, note)

    def make() -> dict[str, NDArray[Any]]:
        policies = learn_policies(
            proposals,
            config.iteration(),
            config.gammas,
            config.explored,
            config.threads,
            seed,
            on_iteration,
            helpers,
        )
        return {
            f"{name}/{part}": array
            for name, policy in policies.items()
            for part, array in policy_to_arrays(policy).items()
        }

    arrays = folder.arrays("policies", make)
    return {name: policy_from_arrays(under(name, arrays)) for name in ("D-NM", "D-M")}


def _held_out_runs(
    proposals: Proposals, policies: Mapping[str, StoredPolicy], threads: int
) -> dict[str, list[Trajectory]]:
    """What each policy does on the held-out images."""
    model = proposals.model
    named: dict[str, Policy] = {"S-M": StaticPolicy(proposals.sequences[0]), **policies}
    return {name: run_all(model, constant(p), model.corpus.held_out, threads) for name, p in named.items()}


def _figures(runs: Mapping[str, Sequence[Trajectory]]) -> dict[str, Any]:
    """Area under the curve and final accuracy of each policy; areas are over all these policies' budgets."""
    budgets = budget_grid(list(runs.values()))
    return {
        name: {
            "area over log cost": area_over_log_cost(run, budgets),
            "final accuracy": float(np.mean([t.accuracy[-1] for t in run])),
            "final cost in ms": float(np.mean([t.cost[-1] for t in run])),
        }
        for name, run in runs.items()
    }


def _curve(runs: Sequence[Trajectory]) -> dict[str, list[float]]:
    """Mean accuracy at some budgets, to compare with other models' at the same ones."""
    budgets = budget_grid([runs], 64)
    return {"ms": budgets.tolist(), "accuracy": mean_curve(runs, budgets).tolist()}


def _nothing() -> dict[str, NDArray[Any]]:
    """What sets that learn nothing leave: a file of arrays must hold one."""
    return {"nothing": np.zeros(1)}


def _read_scenes(scenes: SceneList, threads: int) -> tuple[str, int]:
    """A hash of all that is learned from, and how many images have labels.

    A label that was corrected makes another run of it.
    """

    def one(index: int) -> tuple[bytes, bool]:
        truth = scenes.truth(index)
        parts = (scenes.image(index), truth if truth is not None else np.zeros(0))
        return hashlib.sha256(b"".join(part.tobytes() for part in parts)).digest(), truth is not None

    read = map_threads(one, range(len(scenes)), threads)
    digests = b"".join(digest for digest, _ in read)
    return hashlib.sha256("\n".join(scenes.ids).encode(errors="surrogateescape") + digests).hexdigest(), sum(
        has for _, has in read
    )


def _fingerprint(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
