"""From a data set to a model file, in stages that a killed run does not repeat."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import anyscene
from anyscene.data import DataSet
from anyscene.errors import ConfigError, DataError
from anyscene.features import bank_to_arrays
from anyscene.features.cache import FeatureCache
from anyscene.files import cache_dir
from anyscene.hierarchy import LAYERS, working_frame
from anyscene.learning.banks import Banks, bank_unless_copy, fit_banks, load_banks, restrict, usual_sets
from anyscene.learning.climbs import propose_climbs
from anyscene.learning.config import TrainConfig
from anyscene.learning.corpus import Corpus
from anyscene.learning.extraction import Extract, branching, extract, fit_corpus_bins, to_example
from anyscene.learning.guide import search_guide, with_long_end
from anyscene.learning.parallel import map_threads
from anyscene.learning.planning import end_with_guide, make_plans
from anyscene.learning.policies import constant, fit_temperature, learn_policies, run_all
from anyscene.learning.pool import Proposals, combine, prune, restrict_actions
from anyscene.learning.pricing import measure_costs, price_actions, read_costs
from anyscene.learning.proposals import GreedySequence, cluster, greedy_sequence, set_prices
from anyscene.learning.run_folder import RunFolder
from anyscene.learning.storage import sequence_from_arrays, sequence_to_arrays
from anyscene.model.actions import Action
from anyscene.model.costs import ActionCosts
from anyscene.model.curves import area_over_log_cost, budget_grid, mean_curve
from anyscene.model.modelfile import TrainedModel, save_model
from anyscene.model.policies import LearnedPolicy, LinearQ, Policy, StaticPolicy
from anyscene.model.rollout import Trajectory

Report = Callable[[str, int, int, str], None]
"""Told of progress: (stage, done, of how many, a word on the latest)."""

STAGES = 3
"""To be raised when stages leave something else behind: a run of before cannot be gone on with."""

FEWEST = 8
"""Images that learning needs at least: some to fit to, some to judge by."""

HORIZON_FACTOR = 1.5
"""A policy may take so many times the actions of the longest sequence."""


def train(
    dataset: DataSet,
    out: str | Path,
    config: TrainConfig | None = None,
    seed: int = 0,
    *,
    split: str = "train",
    resume: bool = False,
    run: str | Path | None = None,
    backbone: str | Path | None = None,
    costs: str | Path | None = None,
    report: Report = lambda stage, done, total, note: None,
) -> TrainedModel:
    """Learn a model from one split of a data set and write it to `out`.

    The same data, config, seed, thread count and costs give the same file, bit for bit, on one machine.

    run : folder of the run (default: `out` with `.run` after it). resume : go on with the run that is there.
    backbone : file of the hypercolumn's network; without one its rungs are not used.
    costs : a cost file of another run to use instead of measuring this machine (`RUN/costs.json`).
    """
    config = config or TrainConfig()
    out = Path(out)
    data = restrict(dataset, split)
    given = _fingerprint(Path(costs)) if costs else ""
    network = _fingerprint(Path(backbone)) if backbone else ""
    ids = hashlib.sha256("\n".join(data.split("train").ids).encode()).hexdigest()
    identity = {
        "version": f"{anyscene.__version__}, stages {STAGES}",
        "data set": data.name,
        "list of images": ids,
        "config": config.model_dump(mode="json"),
        "seed": seed,
        "backbone": network,
        "cost file": given,
    }
    folder = RunFolder(Path(run) if run else out.with_name(out.name + ".run"), identity, resume)
    # Threads are ours to share out: libraries that start their own would oversubscribe.
    with threadpool_limits(1):
        cv2.setNumThreads(1)
        trained = _stages(data, folder, config, seed, backbone, costs, report)
    save_model(out, trained)
    report("model", 1, 1, str(out))
    return trained


def _stages(
    data: DataSet,
    folder: RunFolder,
    config: TrainConfig,
    seed: int,
    backbone: str | Path | None,
    costs: str | Path | None,
    report: Report,
) -> TrainedModel:
    bank_seed, proposal_seed, policy_seed = np.random.SeedSequence(seed).spawn(3)
    report("feature sets", 0, 1, "fitting")
    network = Path(backbone) if backbone else None
    sets = config.sets or usual_sets(data.classes.names, network)
    arrays = folder.arrays(
        "bank", lambda: fit_banks(data, sets, np.random.default_rng(bank_seed)) or _nothing()
    )
    trees = max(config.bundles) > 1
    banks = load_banks(data, sets, arrays, network, 1, trees, config.rungs)
    report("feature sets", 1, 1, ", ".join(banks.names))
    measured = folder.document(
        "costs", lambda: read_costs(costs) if costs else measure_costs(banks.whole, data)
    )
    corpus, prices = build_corpus(data, banks, config, measured, report)
    proposals = propose(corpus, prices, config, folder, proposal_seed, report)
    policies = learn(proposals, config, folder, policy_seed, report)
    model = proposals.model
    runs = _held_out_runs(proposals, policies, config.threads)
    network_arrays, graphs = banks.network()
    record = {
        "data": data.name,
        "images fitted": len(corpus.fit),
        "images held out": len(corpus.held_out),
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
        features={**bank_to_arrays(banks.crossfit.whole), **network_arrays},
        graphs=graphs,
        record=record,
    )


def build_corpus(
    data: DataSet, banks: Banks, config: TrainConfig, measured: Mapping[str, Any], report: Report
) -> tuple[Corpus, ActionCosts]:
    """Extract (or find in the cache) the features of all images, and divide the images up."""
    scenes = data.split("train")
    chosen = [i for i in range(len(scenes)) if scenes.truth(i) is not None]
    if config.images and len(chosen) > config.images:
        chosen = [chosen[i] for i in np.linspace(0, len(chosen) - 1, config.images).round().astype(int)]
    if len(chosen) < FEWEST:
        raise DataError(
            f"{data.name} has {len(chosen)} labelled images to learn from; at least {FEWEST} are needed"
        )
    cache = FeatureCache(cache_dir() / "features")
    done: list[int] = []
    left_out: list[str] = []

    def work(index: int) -> Extract | None:
        scene = scenes[index]
        bank = bank_unless_copy(banks, scene, left_out, len(chosen))
        made = extract(scene, bank, len(data.classes), cache) if bank is not None else None
        done.append(index)
        report(
            "features", len(done), len(chosen), scene.id if made else f"{scene.id} left out: in both halves"
        )
        return made

    extracts = [made for made in map_threads(work, chosen, config.threads) if made]
    held_out = _held_out(data, [extracted.id for extracted in extracts])
    bins = fit_corpus_bins([e for e, held in zip(extracts, held_out, strict=True) if not held])
    whole = banks.whole
    speaking = frozenset(name for name, feature_set in whole.items() if feature_set.speaks_of_classes)
    rungs = sorted((s for s in bins if whole[s].fineness), key=lambda name: whole[name].fineness)
    examples = [to_example(extracted, bins, speaking) for extracted in extracts]
    corpus = Corpus(
        fit=tuple(e for e, held in zip(examples, held_out, strict=True) if not held),
        held_out=tuple(e for e, held in zip(examples, held_out, strict=True) if held),
        sets=tuple(bins),
        speaking=speaking,
        ladder=tuple(tuple(bins).index(name) for name in rungs),
        bins=bins,
        classes=len(data.classes),
        layer_count=LAYERS,
    )
    frame = working_frame(scenes.image(chosen[len(chosen) // 2]))
    return corpus, price_actions(banks.whole, frame, measured, branching([e.tree for e in extracts]))


def _held_out(data: DataSet, ids: Sequence[str]) -> NDArray[np.bool_]:
    """Which images weak learners are not fitted to: those of the smaller of the data set's two halves.

    Halves are made of whole drives where the data is video, and their images have scores from different
    networks: what helps on both sides will help on a new image. Runs of neighbours held out of each drive did
    not show that trees on top of a network make other drives worse.
    """
    halves = [np.isin(ids, data.split(fold).ids) for fold in ("a", "b")]
    held_out = min(halves, key=lambda half: int(half.sum()))
    if not 0 < held_out.sum() < len(ids):
        raise DataError(
            f"{data.name} has no two halves to learn from; its splits 'a' and 'b' must not be empty"
        )
    return np.asarray(held_out)


def propose(
    corpus: Corpus,
    costs: ActionCosts,
    config: TrainConfig,
    folder: RunFolder,
    seed: np.random.SeedSequence,
    report: Report,
) -> Proposals:
    """Sequences on all images and on clusters, climbs, a guide and plans, and the pruned pool of them."""
    sequence_seed, climb_seed, prune_seed = seed.spawn(3)
    settings = config.proposals()
    clusters = cluster(corpus, config.clusters, costs, int(sequence_seed.generate_state(1)[0]))
    wanted = [
        ("static sequence", list(corpus.fit)),
        *((f"sequence of cluster {i + 1}", group) for i, group in enumerate(clusters)),
    ]
    seeds = sequence_seed.spawn(len(wanted))

    def sequence(index: int) -> GreedySequence:
        stage, group = wanted[index]

        def on_step(step: int, action: Action, loss: float) -> None:
            report(stage, step + 1, settings.max_steps, f"{_name(action)}, held-out loss {loss:.4f}")

        arrays = folder.arrays(
            f"sequence-{index}",
            lambda: sequence_to_arrays(
                greedy_sequence(corpus, group, costs, settings, seeds[index], on_step)
            ),
        )
        return sequence_from_arrays(arrays)

    sequences = [sequence(index) for index in range(len(wanted))]
    if not sequences[0].actions:
        raise DataError("no action improves on the prior: the feature sets say nothing about these classes")
    report("climbs", 0, 1, "fitting blends")
    climbs = propose_climbs(corpus, set_prices(costs), settings.learners, climb_seed)
    report("climbs", 1, 1, f"{len(climbs)} of them")
    steps = max(2, round(HORIZON_FACTOR * max(len(sequence.actions) for sequence in sequences)))
    everything = combine(corpus, [*sequences, *climbs], costs, settings, steps)
    judging = corpus.explored[:: max(1, len(corpus.explored) // config.guide_images)]
    # Plans and ends are judged by where they end, where images differ more than policies do: by more of them.
    many = corpus.held_out[:: max(1, len(corpus.held_out) // (2 * config.guide_images))]
    of_both = (*many, *corpus.some_fitted(len(many)))
    report("pool", 0, 1, f"{len(everything.model.actions)} proposals")

    def choose_pool() -> list[int]:
        planned = replace(everything, plans=make_plans(everything, of_both, config.threads))
        return prune(planned, config.pool, config.prune_images, config.threads, prune_seed)

    kept = folder.document("pool", choose_pool)
    report("pool", 1, 1, f"{len(kept)} actions kept")
    pruned = restrict_actions(everything, kept)
    report("guide", 0, 1, f"{config.guide_rounds} rounds at most")

    def find_guides() -> list[tuple[int, ...]]:
        groups = (judging, corpus.some_fitted(len(judging)))
        found = search_guide(pruned, groups, config.guide_rounds, config.threads)
        # Whoever follows S-M and goes on after its end cannot fall behind it: that is the safest.
        both = (pruned.sequences[0], found)
        return [with_long_end(pruned, sequence, many, config.threads) for sequence in both]

    guides = tuple(tuple(guide) for guide in folder.document("guides", find_guides))
    report("guide", 1, 1, f"{len(guides[-1])} actions")
    guided = replace(pruned, guides=guides)
    plans = make_plans(guided, of_both, config.threads)
    report("plans", 1, 1, f"{len(plans)} for known deadlines")
    return replace(guided, plans=plans)


def learn(
    proposals: Proposals, config: TrainConfig, folder: RunFolder, seed: np.random.SeedSequence, report: Report
) -> dict[str, LearnedPolicy]:
    """The learned policies by name."""

    def on_iteration(gamma: float, iteration: int, worth: float) -> None:
        note = f"worth {worth:.4f} on held-out images"
        report(f"policy, gamma {gamma:g}", iteration + 1, config.iterations, note)

    def make() -> dict[str, NDArray[Any]]:
        policies = learn_policies(
            proposals, config.iteration(), config.gammas, config.explored, config.threads, seed, on_iteration
        )
        arrays: dict[str, NDArray[Any]] = {}
        for name, policy in policies.items():
            arrays |= {f"{name}/{part}": array for part, array in asdict(policy.q).items()}
            arrays[f"{name}/stop_below"] = np.array([policy.stop_below])
            arrays[f"{name}/guide"] = np.array(policy.guide, np.int64)
            arrays[f"{name}/loyalty"] = np.array([policy.loyalty])
        return arrays

    arrays = folder.arrays("policies", make)
    return {
        name: LearnedPolicy(
            LinearQ(*(arrays[f"{name}/{part.name}"] for part in fields(LinearQ))),
            float(arrays[f"{name}/stop_below"][0]),
            tuple(arrays[f"{name}/guide"].tolist()),
            float(arrays[f"{name}/loyalty"][0]),
        )
        for name in ("D-NM", "D-M")
    }


def _held_out_runs(
    proposals: Proposals, policies: Mapping[str, LearnedPolicy], threads: int
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


def _name(action: Action) -> str:
    return ", ".join(
        f"{type(action).__name__.lower()} {value}" for value in list(asdict(action).values())[-1:]
    )


def _nothing() -> dict[str, NDArray[Any]]:
    """What sets that learn nothing leave: a file of arrays must hold one."""
    return {"nothing": np.zeros(1)}


def _fingerprint(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
