"""The bench `paper`: the paper's own system across drives, against a standard classifier and its baselines.

Six models are learned: with eight sets and with nine (and the network), on half a, on half b, and on train.
Each is judged on images that it, its feature sets and its network have not seen: b, a, and val. Models and
their runs are kept in the cache folder, so that a bench that was stopped goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import anyscene
from anyscene import metrics
from anyscene.data import DataSet, Scene
from anyscene.data.splits import evenly_spread
from anyscene.evaluation.network_alone import label_whole
from anyscene.features.cache import FeatureCache
from anyscene.features.hypercolumn.backbone import Backbone, read_backbone, shipped_backbone
from anyscene.features.hypercolumn.network import Network
from anyscene.features.hypercolumn.rung import Rung
from anyscene.files import cache_dir
from anyscene.hierarchy import LAYERS
from anyscene.learning.extraction import Extract, extract
from anyscene.learning.paper import paper_config
from anyscene.learning.train import train
from anyscene.model.evidence import ArrayEvidence
from anyscene.modelfile import TrainedModel
from anyscene.policy.curves import accuracy_at, cost_to_reach
from anyscene.policy.oracle import Oracle
from anyscene.policy.policies import Policy, StaticPolicy
from anyscene.policy.rollout import Trajectory, rollout
from anyscene.threads import one_thread
from benchmarks.figures import Bar, Figure, Request
from benchmarks.learning import honest_banks
from benchmarks.staircase import JUDGED_EVERY, Task, prepare
from benchmarks.yardstick import Rival, accuracy_of, best_of, rivals

TASKS = (("a", "b"), ("b", "a"), ("train", "val"))
BUDGETS = (4.0, 8.0, 20.0)
"""Milliseconds at which the yardstick is asked."""

SHARES = (0.25, 0.5)
"""Shares of S-M's full cost whose accuracies D-NM should have sooner."""

ORACLE_IMAGES = 14
"""Images of each task that an oracle labels: it tries every action to its end in every state."""

DRAWS = 2000
"""Draws of the bootstrap of intervals."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a model does on the images that judge it."""

    name: str
    trained: TrainedModel
    extracts: tuple[Extract, ...]
    runs: Mapping[str, list[Trajectory]]

    @cached_property
    def budgets(self) -> Floats:
        """Evenly spaced in log cost, from the first labels to the dearer one's full cost."""
        both = [*self.runs["D-NM"], *self.runs["S-M"]]
        first = min(run.cost[1] for run in both if len(run.actions))
        return np.geomspace(first, max(run.cost[-1] for run in both), 256)

    def curves(self, system: str) -> Floats:
        """The accuracy on each image at each budget, float64[M, B]."""
        return np.array([accuracy_at(run, self.budgets) for run in self.runs[system]])

    def at(self, system: str, budget: float) -> float:
        """Mean accuracy within a budget."""
        return float(np.mean([accuracy_at(run, np.array([budget]))[0] for run in self.runs[system]]))

    def final(self, system: str) -> float:
        """Mean accuracy without a limit."""
        return float(np.mean([run.accuracy[-1] for run in self.runs[system]]))


def run(request: Request) -> Iterator[Figure]:
    """Measure every row of the issue's table."""
    if request.data is None:
        yield Figure("the paper's setting", None, None, skipped="needs --data, such as camvid:PATH")
        return
    data = anyscene.data.open(request.data)
    with one_thread():
        eight = [outcome(data, *task, network=False) for task in TASKS]
        nine = [outcome(data, *task, network=True) for task in TASKS]
        yield from yardstick_figures(data, eight)
        yield from network_figures(data, nine)
        for name, outcomes in (("eight sets", eight), ("nine sets", nine)):
            yield from policy_figures(name, outcomes)


def outcome(data: DataSet, fitted: str, judged: str, network: bool) -> Outcome:
    """Learn on one part of the data, or find what was learned, and run its policies on another."""
    folder = cache_dir() / "bench-paper"
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{data.name}-{fitted}-{'nine' if network else 'eight'}"
    trained = train(data, folder / f"{name}.anyscene", paper_config(), split=fitted, network=network)
    bank_for = honest_banks(trained, Path(shipped_backbone(data.name)) if network else None)
    cache = FeatureCache(cache_dir() / "features")
    scenes = judges(data, judged)
    extracts = tuple(extract(scene, bank_for(scene), len(data.classes), cache) for scene in scenes)
    policies: dict[str, Policy] = {**trained.policies, "S-M": StaticPolicy(trained.static)}
    runs = {key: [_run(trained, policy, one) for one in extracts] for key, policy in policies.items()}
    return Outcome(f"{fitted} on {judged}", trained, extracts, runs)


def judges(data: DataSet, split: str) -> list[Scene]:
    """The images that judge: as in the bench `staircase`."""
    scenes = data.split(split)
    return [scenes[i] for i in range(0, len(scenes), JUDGED_EVERY)]


def yardstick_figures(data: DataSet, eight: Sequence[Outcome]) -> Iterator[Figure]:
    """D-NM and S-M less the yardstick, without a limit and within budgets."""
    tasks = [prepare(data, *task) for task in TASKS]
    found = [rivals(task, one.trained.model.costs) for task, one in zip(tasks, eight, strict=True)]
    whole = [
        max((r for r in others if r.layer == LAYERS - 1), key=lambda r: (len(r.sets), r.rounds))
        for others in found
    ]
    unlimited = [accuracy_of(rival, task) for rival, task in zip(whole, tasks, strict=True)]
    for system in ("D-NM", "S-M"):
        for one, rival, theirs in zip(eight, whole, unlimited, strict=True):
            gap = one.final(system) - theirs
            parts = {system: one.final(system), "yardstick": theirs, "its ms": rival.cost}
            name = f"eight sets, {one.name}: {system} without a limit less the yardstick"
            yield Figure(name, Bar("at least", -1.0), 100 * gap, "points", parts)
    for budget in BUDGETS:
        within = [
            _scored([r for r in o if r.cost <= budget], t) for o, t in zip(found[:2], tasks, strict=False)
        ]
        cheap = [
            _scored([r for r in o if r.least_cost <= budget], t)
            for o, t in zip(found[:2], tasks, strict=False)
        ]
        for system in ("D-NM", "S-M"):
            ours = [one.at(system, budget) for one in eight[:2]]
            gaps = [100 * float(np.mean(ours) - np.mean([score for score, _ in t])) for t in (within, cheap)]
            named: dict[str, Any] = {
                system: ours,
                "yardstick": within,
                "if a round cost one tree": cheap,
                "gap then": gaps[1],
            }
            name = f"eight sets, mean of the halves: {system} within {budget:g} ms less the best yardstick"
            yield Figure(name, Bar("at least", -1.5), gaps[0], "points", named)


def _scored(affordable: Sequence[Rival], task: Task) -> tuple[float, str]:
    """The accuracy of the rival that the training images choose, and which that is."""
    rival = best_of(affordable)
    return (accuracy_of(rival, task), str(rival)) if rival else (0.0, "none")


def network_figures(data: DataSet, nine: Sequence[Outcome]) -> Iterator[Figure]:
    """D-NM with nine sets against the network alone at full size."""
    backbone = read_backbone(Path(shipped_backbone(data.name)))
    alone = [network_accuracy(backbone, data, fitted, judged) for fitted, judged in TASKS]
    costs = [float(one.trained.model.costs.items.max()) for one in nine]
    half = float(np.mean([one.at("D-NM", cost / 2) for one, cost in zip(nine[:2], costs[:2], strict=True)]))
    name = "nine sets, mean of the halves: D-NM at half of the network's cost"
    yield Figure(name, Bar("at least", 76.0), 100 * half, "%", {"network's ms": costs})
    for one, accuracy in zip(nine, alone, strict=True):
        parts = {"D-NM": one.final("D-NM"), "S-M": one.final("S-M"), "network": accuracy}
        name = f"nine sets, {one.name}: D-NM without a limit less the network alone at full size"
        yield Figure(name, Bar("at least", 0.0), 100 * (one.final("D-NM") - accuracy), "points", parts)


def network_accuracy(backbone: Backbone, data: DataSet, part: str, judged: str) -> float:
    """Mean share of the judging images' pixels that a part of the backbone labels right, run whole."""
    network, head = Network(backbone.graphs[part]), backbone.heads[part, data.name].first_rows(0)
    right = []
    for scene in judges(data, judged):
        assert scene.truth is not None
        labels = label_whole(network, head, scene.image, Rung(1.0))
        right.append(metrics.pixel_accuracy(metrics.count(scene.truth, labels, head.classes)))
    return float(np.mean(right))


def policy_figures(sets: str, outcomes: Sequence[Outcome]) -> Iterator[Figure]:
    """D-NM against S-M: areas, shortfalls, costs, what depends on the image, and the oracle."""
    gains, behind, ratios = [], [], []
    for one in outcomes:
        ours, static = one.curves("D-NM").mean(axis=0), one.curves("S-M").mean(axis=0)
        gains.append(100 * float((ours - static).mean()))
        behind.append(100 * max(0.0, float((static - ours).max())))
        ratios.append(_cost_ratios(one, ours, static))
    names = [one.name for one in outcomes]
    yield Figure(
        f"{sets}: area of D-NM less that of S-M, mean of the three",
        Bar("at least", 0.5),
        float(np.mean(gains)),
        "points",
        dict(zip(names, gains, strict=True)),
    )
    yield Figure(f"{sets}: the least of the three", Bar("at least", 0.0), min(gains), "points")
    yield Figure(f"{sets}: largest shortfall of D-NM", Bar("at most", 1.5), max(behind), "points")
    mean = float(np.mean([ratio for own in ratios for ratio in own]))
    name = f"{sets}: D-NM's cost over S-M's for what S-M has at 25 and 50 % of its cost, mean"
    yield Figure(name, Bar("at most", 0.6), mean, "x", dict(zip(names, ratios, strict=True)))
    for one in outcomes:
        yield _dealt_figure(sets, one)
    yield _oracle_figure(sets, outcomes)


def _cost_ratios(one: Outcome, ours: Floats, static: Floats) -> list[float]:
    full = float(np.mean([run.cost[-1] for run in one.runs["S-M"]]))
    ratios = []
    for share in SHARES:
        wanted = float(static[np.searchsorted(one.budgets, share * full, side="right") - 1])
        ratios.append(cost_to_reach(ours, one.budgets, wanted) / cost_to_reach(static, one.budgets, wanted))
    return ratios


def _dealt_figure(sets: str, one: Outcome) -> Figure:
    """What is lost if each image gets the actions that D-NM took on the next but some."""
    taken = [tuple(run.actions.tolist()) for run in one.runs["D-NM"]]
    dealt = taken[len(taken) // 2 :] + taken[: len(taken) // 2]
    runs = [_run(one.trained, StaticPolicy(s), e) for s, e in zip(dealt, one.extracts, strict=True)]
    own = one.curves("D-NM").mean(axis=1)
    theirs = np.array([accuracy_at(run, one.budgets).mean() for run in runs])
    loss = 100 * (own - theirs)
    drawn = _drawn(len(loss))
    parts = {"different sequences": len(set(taken)), "95 % interval": _interval(loss[drawn].mean(axis=1))}
    name = f"{sets}, {one.name}: area lost if images are dealt each other's sequences"
    return Figure(name, Bar("at least", 0.3), float(loss.mean()), "points", parts)


def _oracle_figure(sets: str, outcomes: Sequence[Outcome]) -> Figure:
    """The share of the oracle's gain over S-M that D-NM gets, on some images of each task."""
    gains = []
    for one in outcomes:
        for i in evenly_spread(len(one.extracts), ORACLE_IMAGES):
            made = one.extracts[i]
            evidence = ArrayEvidence(made.tree, made.features)
            oracle = Oracle(
                one.trained.model, one.trained.policies["D-NM"], evidence, made.truth, one.budgets
            )
            areas = [
                accuracy_at(run, one.budgets).mean()
                for run in (one.runs["D-NM"][i], one.runs["S-M"][i], _run(one.trained, oracle, made))
            ]
            gains.append((areas[0] - areas[1], areas[2] - areas[1]))
    pairs = np.array(gains)
    shares = 100 * _share(pairs[_drawn(len(pairs))].sum(axis=1))
    parts = {"images": len(pairs), "95 % interval": _interval(shares)}
    name = f"{sets}: share of the oracle's gain over S-M that D-NM gets"
    return Figure(name, Bar("at least", 25.0), float(100 * _share(pairs.sum(axis=0))), "%", parts)


def _share(gained: Floats) -> Floats:
    """What D-NM gained over what the oracle did, float64[..., 2]; 0 where the oracle gained nothing."""
    ours, possible = gained[..., 0], gained[..., 1]
    return np.where(possible > 0, ours / np.where(possible > 0, possible, 1.0), 0.0)


def _drawn(images: int) -> NDArray[np.int64]:
    """Images as a bootstrap draws them, int64[draws, n]."""
    return np.random.default_rng(0).integers(images, size=(DRAWS, images))


def _interval(drawn: Floats) -> list[float]:
    """95 % of what was drawn."""
    return [float(end) for end in np.quantile(drawn, (0.025, 0.975))]


def _run(trained: TrainedModel, policy: Policy, made: Extract) -> Trajectory:
    alpha = float(trained.record["config"]["alpha"])
    return rollout(trained.model, policy, ArrayEvidence(made.tree, made.features), made.truth, alpha)
