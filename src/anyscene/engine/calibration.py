"""Measuring what the engine's own steps cost here, beside those of trees and features."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from statistics import median

import numpy as np
from numpy.typing import NDArray

from anyscene.engine import foresight
from anyscene.engine.deciding import Decider, decider_for
from anyscene.engine.evidence import LazyEvidence
from anyscene.engine.foresight import Foresight, Most, foresee, frame_share
from anyscene.features import Bank, Charge, Work, calibration
from anyscene.features.costs import CostModel, StepCost
from anyscene.hierarchy import LAYERS, working_frame
from anyscene.learning.overheads import measure_detail
from anyscene.model import painting
from anyscene.model.actions import Split, split
from anyscene.model.policies import Policy, RandomPolicy, Situation, StaticPolicy
from anyscene.model.rollout import Model
from anyscene.model.state import State

LARGE_SIDES = ((540, 720), (1080, 1440), (2160, 2880), (3000, 4000))

HIGH_QUANTILE = 0.98
HIGH_MARGIN = 1.2
"""On top of the quantile, for what disturbs an action from outside."""

LONG_MS, LEAST_PAD_MS = 1.0, 0.4
"""Longer actions vary in proportion to what they take, shorter ones by so much at the least."""

DISTANT = Most(1e9, 1e9, inf)
"""All actions fit, but whether they do is looked at, as by a deadline without plans."""

Image = NDArray[np.uint8]


@dataclass(frozen=True)
class Taken:
    """An action that was measured. ms : all that it took. own : what of it went to no tree and no feature."""

    situation: Situation
    action: int
    ms: float
    deciding: Charge
    own: Charge
    frame_share: float


def with_own_steps(
    base: CostModel, model: Model, policy: Policy, bank: Bank, images: Sequence[Image], rounds: int
) -> CostModel:
    """Add the engine's own steps to the costs of trees and features; hold everything to one thread."""
    decider = decider_for(model, policy, Foresight(model.costs, base))

    def walk_again(image: Image, new_policy: Callable[[], Policy]) -> list[list[Taken]]:
        """The same walk several times over: what disturbs one of them is told from what is slow."""
        return [_walk(model, decider, bank, image, new_policy()) for _ in range(rounds)]

    def at_random(seed: int) -> Callable[[], Policy]:
        return lambda: RandomPolicy(np.random.default_rng(seed))

    walk_again(images[0], at_random(0))  # compiles
    walks = [walk_again(image, at_random(seed)) for seed, image in enumerate(images)]
    # Where most actions are of one kind, random walks may take none of the other.
    kinds = model.pool.chain_of < 0, model.pool.chain_of >= 0
    both = tuple(int(np.argmax(kind)) for kind in kinds if kind.any())
    walks += [walk_again(image, partial(StaticPolicy, both)) for image in images[:2]]
    charges = [c for again in walks for walk in again for step in walk for c in (step.deciding, step.own)]
    # Walks may never see many leaves, and what deciding takes then must not be guessed from one and seven.
    charges += _decisions(model, decider, LazyEvidence(images[0], bank), rounds)
    for leaves, ms in measure_detail(model.pool.classes, rounds).items():
        charges.append(Charge(Work(foresight.DETAIL, 0, leaves), ms))
    for sides in LARGE_SIDES:
        _frame_and_paint(sides)  # touches the memory that painting is given again later
        for same in zip(*(_frame_and_paint(sides) for _ in range(rounds)), strict=True):
            charges.append(Charge(same[0].work, median(charge.ms for charge in same)))
    steps = CostModel(base.key, {**base.steps, **calibration.fit_costs(charges)})
    taken = [
        replace(same[0], ms=median(step.ms for step in same))
        for again in walks
        for same in zip(*again, strict=True)
    ]
    return CostModel(base.key, {**steps.steps, **_whole_actions(taken, model, steps, bank)})


def _walk(model: Model, decider: Decider, bank: Bank, image: Image, policy: Policy) -> list[Taken]:
    """Label an image as a policy says and measure each action."""
    evidence = LazyEvidence(image, bank)
    frame = image.shape[0], image.shape[1]
    state = model.start()
    taken: list[Taken] = []
    while True:
        begun = time.thread_time()
        decider.decide(partial(_given, state), (), frame, DISTANT)
        deciding = _ms_since(begun)
        situation = model.situation(state, tuple(step.action for step in taken))
        action = policy.choose(situation)
        if action is None:
            return taken
        charged = len(evidence.ledger.charges)
        begun = time.thread_time()
        after = model.advance(situation, action, evidence)
        ms = _ms_since(begun)
        own = max(0.0, ms - sum(charge.ms for charge in evidence.ledger.charges[charged:]))
        taken.append(
            Taken(
                situation,
                action,
                deciding + ms,
                Charge(Work(foresight.DECIDE, 0, len(state.leaves)), deciding),
                Charge(_own_work(situation, action, len(after.leaves)), own),
                frame_share(frame),
            )
        )
        state = after


def _decisions(model: Model, decider: Decider, evidence: LazyEvidence, rounds: int) -> list[Charge]:
    """Measure deciding in states of more and more leaves, all that there can be in the last."""
    state, charges = model.start(), []
    for layer in range(evidence.layer_count):
        if layer:
            state = split(state, -1.0, model.pool, evidence)  # no entropy is as low
        work = Work(foresight.DECIDE, 0, len(state.leaves))
        for _ in range(rounds):
            begun = time.thread_time()
            decider.decide(partial(_given, state), (), foresight.REFERENCE, DISTANT)
            charges.append(Charge(work, _ms_since(begun)))
    return charges


def _own_work(situation: Situation, action: int, leaves_after: int) -> Work:
    chosen, state = situation.pool.actions[action], situation.state
    if isinstance(chosen, Split):
        return Work(foresight.SPLIT, 0, leaves_after)
    rows = int(state.active.sum())
    return Work(foresight.UPDATE, rows * (chosen.size - int(state.applied[chosen.chain])), rows)


def _frame_and_paint(sides: tuple[int, int]) -> list[Charge]:
    """Measure scaling a large image down, and painting its labels."""
    image = np.zeros((*sides, 3), np.uint8)
    image[::2, 1::2] = 255
    pixels = sides[0] * sides[1]
    begun = time.thread_time()
    frame = working_frame(image)
    framing = Charge(Work(foresight.FRAME, pixels), _ms_since(begun))
    evidence = LazyEvidence(frame, {})
    nodes = evidence.nodes(LAYERS - 1)
    leaves = np.arange(nodes.start[-2], nodes.start[-1], dtype=np.int32)
    begun = time.thread_time()
    paint = painting.Painter(evidence.tree, nodes, leaves, sides)
    paint(np.zeros(len(leaves), np.int16))
    return [framing, Charge(Work(foresight.PAINT, pixels), _ms_since(begun))]


def _whole_actions(taken: Sequence[Taken], model: Model, steps: CostModel, bank: Bank) -> dict[str, StepCost]:
    """Compare what actions took with what their steps typically take, for each kind of action."""
    costs = foresee(steps, bank, model.costs.branching)

    def is_split(step: Taken) -> bool:
        return isinstance(step.situation.pool.actions[step.action], Split)

    def exceeding(kind: bool) -> StepCost:
        own = [step for step in taken if is_split(step) is kind]
        typical = [
            costs.of_actions(step.situation.state, model.pool, step.situation.coverage, step.frame_share)[
                step.action
            ]
            for step in own
        ]
        return _exceeding(np.array(typical), np.array([step.ms for step in own]))

    return {foresight.WHOLE_UPDATE: exceeding(False), foresight.WHOLE_SPLIT: exceeding(True)}


def _exceeding(typical: NDArray[np.float64], actual: NDArray[np.float64]) -> StepCost:
    """By what actions exceed what is typical of them: a factor, which long ones need, and some milliseconds.

    The shortest vary most.
    """
    if not len(typical):
        return StepCost(LEAST_PAD_MS, 0.0, 0.0, HIGH_MARGIN)
    long = typical >= LONG_MS
    ratio = float(np.quantile(actual[long] / typical[long], HIGH_QUANTILE)) if long.any() else 1.0
    high = max(1.0, ratio) * HIGH_MARGIN
    pad = max(LEAST_PAD_MS, float(np.quantile(actual - high * typical, HIGH_QUANTILE)))
    return StepCost(pad, 0.0, 0.0, high)


def _given(state: State) -> State:
    return state


def _ms_since(begun: float) -> float:
    return (time.thread_time() - begun) * 1e3
