"""What the model's own steps cost on this machine: splitting, weak learners, choosing an action."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from statistics import median

import cv2
import numpy as np
from numpy.typing import NDArray

from anyscene.features import Bank, FeatureSet, View
from anyscene.hierarchy import LAYERS, Tree
from anyscene.model.actions import Action, Pool, Split, Update, split, update
from anyscene.model.chain import Chain
from anyscene.model.costs import ActionCosts
from anyscene.model.evidence import ArrayEvidence
from anyscene.model.nodes import Nodes, nodes_from_layers
from anyscene.model.painting import Detail, Painter, blend_maps, paint_detail
from anyscene.model.policies import LearnedPolicy, LinearQ
from anyscene.model.ranking import Ranking
from anyscene.model.rollout import Model
from anyscene.model.state import State

SIZES = (1, 4, 12, 35, 100, 300, 800, 2000)
TREES, INPUTS, ACTIONS = 20, 24, 64

OVERHEADS = ("start", "step", "region", "tree", "input")
"""What `measure_overheads` measures: parts of ActionCosts."""

DETAIL_FRAME = (360, 480)
"""Height and width of the frame in which painting detail is measured."""


def measure_overheads(classes: int, rounds: int = 15) -> dict[str, float]:
    """Measure the OVERHEADS on a made-up image."""
    tree = _even_tree()
    random = np.random.default_rng(0)
    features = {"set": random.random((tree.count, INPUTS), dtype=np.float32)}
    evidence = ArrayEvidence(tree, features)
    model = _model(classes, random)
    states = [model.start()]
    for _ in SIZES[1:]:
        states.append(split(states[-1], 0.0, model.pool, evidence))
    small, large = states[2], states[-1]
    ranking = Ranking(model, LearnedPolicy(_zero_q(model, small)), model.costs)

    def choose(state: State) -> Callable[[], object]:
        return lambda: ranking.choose(state, ())

    def learners(state: State, size: int) -> Callable[[], object]:
        return lambda: update(state, Update(0, size), model.pool, evidence)

    regions = len(large.leaves) - len(small.leaves)
    ms = {
        "choose": _milliseconds(choose(small), rounds),
        "choose, many": _milliseconds(choose(large), rounds),
        "one": _milliseconds(learners(small, 1), rounds),
        "one, many": _milliseconds(learners(large, 1), rounds),
        "all, many": _milliseconds(learners(large, TREES), rounds),
        "split": _milliseconds(lambda: split(states[1], 0.0, model.pool, evidence), rounds),
        "split, many": _milliseconds(lambda: split(states[-2], 0.0, model.pool, evidence), rounds),
    }
    choosing = max(ms["choose, many"] - ms["choose"], 0.0) / regions
    return {
        "start": ms["choose"],
        "step": ms["choose"] + min(ms["one"], ms["split"]),
        "region": max(ms["split, many"] - ms["split"], 0.0) / regions + choosing,
        "input": max(ms["one, many"] - ms["one"], 0.0) / regions + choosing,
        "tree": max(ms["all, many"] - ms["one, many"], 0.0) / (TREES - 1) / len(large.leaves),
    }


def measure_painting(
    bank: Bank, frame: NDArray[np.uint8], classes: int, rounds: int = 15
) -> dict[str, float]:
    """Measure painting a frame by the map of each set that shows detail, by set."""
    tree = Tree(frame)
    nodes = nodes_from_layers(tree.parents, [area.astype(np.float32) for area in tree.areas])
    root, size = np.zeros(1, np.int32), (frame.shape[0], frame.shape[1])
    of_root = np.zeros((1, classes), np.float32)
    view = View(frame)
    found = {}
    for name, chosen in bank.items():
        if not chosen.fineness:
            continue
        values = chosen.extract(view, view.rect, 0)

        def paint(chosen: FeatureSet = chosen, values: NDArray[np.float32] = values) -> object:
            scores = blend_maps([(1.0, chosen.log_scores(values, classes))])
            detail = Detail(scores, of_root, view.colors(scores.shape[0], scores.shape[1]), frame)
            return paint_detail(detail, of_root, root, tree, nodes, 1.2, size)

        found[name] = _milliseconds(paint, rounds)
    return found


def measure_leaves(frame: NDArray[np.uint8], rounds: int = 15) -> float:
    """Measure painting a frame whose leaves are the finest regions."""
    tree = Tree(frame)
    tree.grow(LAYERS)
    nodes = nodes_from_layers(tree.parents, [area.astype(np.float32) for area in tree.areas])
    leaves = np.arange(nodes.start[LAYERS - 1], nodes.start[LAYERS], dtype=np.int32)
    labels, size = np.zeros(len(leaves), np.int16), (frame.shape[0], frame.shape[1])
    return _milliseconds(lambda: Painter(tree, nodes, leaves, size)(labels), rounds)


def measure_detail(classes: int, rounds: int = 15) -> dict[int, float]:
    """Measure painting where two maps, the finer of half size, show detail, by how many leaves there are."""
    random = np.random.default_rng(0)
    frame = cv2.resize(random.integers(0, 256, (23, 30, 3), dtype=np.uint8), DETAIL_FRAME[::-1])
    tree, view = Tree(frame), View(frame)
    tree.grow(LAYERS)
    nodes = nodes_from_layers(tree.parents, [area.astype(np.float32) for area in tree.areas])
    coarse = random.dirichlet(np.full(classes, 0.1), (6, 8)).astype(np.float32)
    logs, smaller = (np.log(cv2.resize(coarse, size)) for size in ((60, 45), (30, 23)))
    found = {}
    for layer in (0, LAYERS // 2, LAYERS - 1):
        leaves = np.arange(nodes.start[layer], nodes.start[layer + 1], dtype=np.int32)
        of_leaf = random.uniform(-0.2, 0.2, (len(leaves), classes)).astype(np.float32)

        def paint(leaves: NDArray[np.int32] = leaves, of_leaf: NDArray[np.float32] = of_leaf) -> object:
            scores = blend_maps([(0.5, logs.copy()), (0.2, smaller.copy())])
            detail = Detail(
                scores, np.zeros_like(of_leaf), view.colors(scores.shape[0], scores.shape[1]), frame
            )
            return paint_detail(detail, of_leaf, leaves, tree, nodes, 1.2, DETAIL_FRAME)

        found[len(leaves)] = _milliseconds(paint, rounds)
    return found


def _milliseconds(call: Callable[[], object], rounds: int) -> float:
    """Median CPU time of a call; the first, which may compile, does not count."""
    call()
    times = []
    for _ in range(rounds):
        begun = time.thread_time()
        call()
        times.append(time.thread_time() - begun)
    return median(times) * 1e3


def _even_tree() -> Nodes:
    parents = [np.zeros(1, np.int32)]
    for above, here in pairwise(SIZES):
        parents.append((np.arange(here) * above // here).astype(np.int32))
    return nodes_from_layers(parents, [np.full(size, 1 / size, np.float32) for size in SIZES])


def _model(classes: int, random: np.random.Generator) -> Model:
    """Stumps and splits, as many as a pool has."""
    nodes = 3 * TREES
    left = np.full(nodes, -1, np.int32)
    left[::3] = np.arange(TREES) * 3 + 1
    chain = Chain(
        blend_source=np.zeros(0, np.int16),
        blend_weight=np.zeros(0, np.float32),
        blend_bias=np.zeros(classes, np.float32),
        source=np.zeros(INPUTS, np.int16),
        column=np.arange(INPUTS, dtype=np.int32),
        feature=random.integers(0, INPUTS, nodes).astype(np.int32),
        threshold=random.random(nodes, dtype=np.float32),
        left=left,
        value=random.normal(scale=0.1, size=(nodes, classes)).astype(np.float32),
        roots=np.arange(0, nodes, 3, dtype=np.int32),
    )
    splits = tuple(Split(threshold) for threshold in (0.0, 0.3, 0.6, 1.0))
    actions: tuple[Action, ...] = (*splits, *(Update(0, 1 + i % TREES) for i in range(ACTIONS - len(splits))))
    layers = len(SIZES)
    costs = ActionCosts(
        start=0.0,
        step=1.0,
        grow=np.zeros(layers),
        branching=np.full(layers, 3.0),
        region=0.0,
        tree=0.0,
        input=0.0,
        pooling=np.zeros((1, layers)),
        items=np.zeros(1),
        requires=np.ones((1, layers, 1), bool),
    )
    pool = Pool(("set",), (chain,), actions, classes, layers)
    return Model(pool, costs, np.full(classes, 1 / classes, np.float32), 100)


def _zero_q(model: Model, state: State) -> LinearQ:
    phi = model.situation(state).phi
    return LinearQ(np.zeros(len(phi.state)), np.zeros(phi.action.shape[1]), np.zeros(phi.own.shape))
