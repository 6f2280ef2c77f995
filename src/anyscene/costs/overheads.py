"""What the model's own steps cost on this machine: splitting, weak learners, choosing an action."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from anyscene.costs.timing import milliseconds
from anyscene.model.action_costs import ActionCosts
from anyscene.model.actions import Action, Pool, Split, Update, split, update
from anyscene.model.chain import Chain
from anyscene.model.evidence import ArrayEvidence
from anyscene.model.nodes import Nodes, nodes_from_layers
from anyscene.model.state import State
from anyscene.policy.model import Model
from anyscene.policy.policies import LearnedPolicy, LinearQ

SIZES = (1, 4, 12, 35, 100, 300, 800, 2000)
"""Regions of each layer of the made-up tree: about as many as the layers of a real one have."""

TREES, INPUTS, ACTIONS = 20, 24, 64
"""Weak learners of the made-up chain, their inputs, and actions of the pool: as in a usual model."""

DEPTH = 4
"""Depth of the trees that are timed, that of usual weak learners. Stumps would take half of the time."""

ROUNDS = 15
"""How often each step is timed."""

OVERHEADS = ("start", "step", "region", "tree", "input")
"""What `measure_overheads` measures: parts of ActionCosts."""


def measure_overheads(classes: int) -> dict[str, float]:
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
    policy = LearnedPolicy(_zero_q(model, small))

    def choose(state: State) -> Callable[[], object]:
        # As the engine does: what is offered at which cost, what it takes here, and Q̂.
        def once() -> object:
            situation = model.situation(state)
            model.costs.of_actions(state, model.pool, situation.coverage)
            return policy.choose(situation)

        return once

    def learners(state: State, size: int) -> Callable[[], object]:
        return lambda: update(state, Update(0, size), model.pool, evidence)

    regions = len(large.leaves) - len(small.leaves)
    ms = {
        "choose": milliseconds(choose(small), ROUNDS),
        "choose, many": milliseconds(choose(large), ROUNDS),
        "one": milliseconds(learners(small, 1), ROUNDS),
        "one, many": milliseconds(learners(large, 1), ROUNDS),
        "all, many": milliseconds(learners(large, TREES), ROUNDS),
        "split": milliseconds(lambda: split(states[1], 0.0, model.pool, evidence), ROUNDS),
        "split, many": milliseconds(lambda: split(states[-2], 0.0, model.pool, evidence), ROUNDS),
    }
    choosing = max(ms["choose, many"] - ms["choose"], 0.0) / regions
    return {
        "start": ms["choose"],
        "step": ms["choose"] + min(ms["one"], ms["split"]),
        "region": max(ms["split, many"] - ms["split"], 0.0) / regions + choosing,
        "input": max(ms["one, many"] - ms["one"], 0.0) / regions + choosing,
        "tree": max(ms["all, many"] - ms["one, many"], 0.0) / (TREES - 1) / len(large.leaves),
    }


def _even_tree() -> Nodes:
    parents = [np.zeros(1, np.int32)]
    for above, here in pairwise(SIZES):
        parents.append((np.arange(here) * above // here).astype(np.int32))
    return nodes_from_layers(parents, [np.full(size, 1 / size, np.float32) for size in SIZES])


def _model(classes: int, random: np.random.Generator) -> Model:
    """Trees and splits, as many as a pool has."""
    inner, own = 2**DEPTH - 1, 2 ** (DEPTH + 1) - 1
    nodes = own * TREES
    one = np.append(2 * np.arange(inner) + 1, np.full(own - inner, -1))
    roots = own * np.arange(TREES)
    left = np.where(one >= 0, one + roots[:, None], -1).ravel().astype(np.int32)
    chain = Chain(
        kept=np.ones(1, np.float32),
        blend_source=np.zeros(0, np.int16),
        blend_weight=np.zeros(0, np.float32),
        blend_bias=np.zeros(classes, np.float32),
        source=np.zeros(INPUTS, np.int16),
        column=np.arange(INPUTS, dtype=np.int32),
        feature=random.integers(0, INPUTS, nodes).astype(np.int32),
        threshold=random.random(nodes, dtype=np.float32),
        left=left,
        value=random.normal(scale=0.1, size=(nodes, classes)).astype(np.float32),
        roots=roots.astype(np.int32),
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
