"""Running the anytime systems: policies over one pool of actions, by predicted costs or by the clock."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from anyscene import metrics
from anyscene.engine import Engine
from anyscene.engine.evidence import LazyEvidence
from anyscene.evaluation.scored_image import ScoredImage
from anyscene.evaluation.traces import Trace
from anyscene.features import Bank
from anyscene.metrics import Counts
from anyscene.model.loss import labeling_loss
from anyscene.model.state import State
from anyscene.modelfile import TrainedModel
from anyscene.painting.show import show
from anyscene.policy.curves import budget_grid
from anyscene.policy.model import Model
from anyscene.policy.oracle import Oracle
from anyscene.policy.policies import Policy, RandomPolicy, StaticPolicy
from anyscene.policy.rollout import rollout, walk

LEARNED = {"dnm": "D-NM", "dm": "D-M"}
"""The policies that a model file holds, by the name of the system."""


def policy_for(system: str, trained: TrainedModel, image: ScoredImage, bank: Bank, seed: int) -> Policy:
    """The policy of an anytime system; the oracle's is made for one image, whose truth it knows.

    bank : the model's feature sets. seed : the seed of the random policy (RS), another for each image.
    """
    if system in LEARNED:
        return trained.policies[LEARNED[system]]
    if system == "sm":
        return StaticPolicy(trained.static)
    if system == "rs":
        return RandomPolicy(np.random.default_rng(seed))
    return oracle_for(trained, image, bank)


def oracle_for(trained: TrainedModel, image: ScoredImage, bank: Bank) -> StaticPolicy:
    """The actions of the oracle on an image, within the costs of D-NM and S-M there.

    The oracle counts regions. Where D-NM has the larger area in painted pixels, the oracle does as D-NM does.
    """
    model, ours, alpha = trained.model, trained.policies["D-NM"], loss_weight(trained)
    runs = [
        rollout(model, policy, image.evidence, image.truth, alpha)
        for policy in (ours, StaticPolicy(trained.static))
    ]
    budgets = budget_grid([runs])
    oracle = Oracle(model, ours, image.evidence, image.truth, budgets)
    traces = [trace_by_costs(model, policy, image, bank, alpha) for policy in (oracle, ours)]
    best = max(traces, key=lambda trace: trace.pixel_accuracy()[trace.last_within(budgets)].mean())
    return StaticPolicy(tuple(best.actions.tolist()))


def loss_weight(trained: TrainedModel) -> float:
    """The α of Eq. 3 that a model was trained with."""
    return float(trained.record.get("config", {}).get("alpha", 0.5))


def trace_by_costs(model: Model, policy: Policy, image: ScoredImage, bank: Bank, alpha: float) -> Trace:
    """Run a policy at the costs that the model predicts.

    bank : the model's feature sets, for the maps that show detail within leaves.
    alpha : the weight of impurity in the labeling loss (Eq. 3).
    """
    states, actions = [model.start()], []
    for _, action, state in walk(model, policy, image.evidence):
        states.append(state)
        actions.append(action)
    return _trace(model, image, bank, states, [state.cost for state in states], actions, alpha)


def trace_by_clock(
    engine: Engine, image: ScoredImage, bank: Bank, alpha: float, upfront: bool = False
) -> Trace:
    """Run an engine's policy on the decoded image and time every action; painting is charged from the start.

    upfront : whether the whole tree grows, by the clock, before the first action.
    """
    begun = time.perf_counter()
    run = engine.begin(image.scene.image)
    if upfront:
        run.look().nodes(run.look().layer_count - 1)
    spent = [time.perf_counter() - begun]
    states = [run.state]
    while True:
        begun = time.perf_counter()
        if not run.advance():
            break
        spent.append(time.perf_counter() - begun)
        states.append(run.state)
    begun = time.perf_counter()
    run.labeling()
    painting = time.perf_counter() - begun
    costs = [1e3 * (painting + elapsed) for elapsed in np.cumsum(spent)]
    return _trace(engine.learned.model, image, bank, states, costs, run.taken, alpha)


def _trace(
    model: Model,
    image: ScoredImage,
    bank: Bank,
    states: Sequence[State],
    costs: Sequence[float],
    actions: Sequence[int],
    alpha: float,
) -> Trace:
    seen = [model.shown(state, image.evidence) for state in states]
    return Trace(
        np.array(costs, np.float64),
        np.array([labeling_loss(shown, image.truth, alpha) for shown in seen]),
        np.stack(_confusions(model, image, bank, states)),
        np.array(actions, np.int64),
        np.array([state.finest for state in states], np.int64),
    )


def _confusions(model: Model, image: ScoredImage, bank: Bank, states: Sequence[State]) -> list[Counts]:
    """The confusion matrix of the labels of each state: by region or, where maps show detail, by pixel."""
    pool, truth = model.pool, image.scene.truth
    assert truth is not None
    live = LazyEvidence(image.scene.image, bank)
    counts = []
    for state in states:
        if not len(state.maps):
            counts.append(image.confusion(model.shown(state, image.evidence)))
            continue
        nodes = live.nodes(state.finest)
        detail = live.detail(state, pool)
        labels, _ = show(state, live.tree, nodes, (truth.shape[0], truth.shape[1]), 1.0, detail)
        counts.append(metrics.count(truth, labels, pool.classes))
    return counts
