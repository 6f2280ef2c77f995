"""Measuring what the engine's own steps and its plans take on this machine.

Costs of trees and features come from `costs/measuring.py`; these are the rest of what a user waits for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median

import numpy as np
from numpy.typing import NDArray

from anyscene.costs import deadline
from anyscene.costs.deadline import LocalCosts, frame_share, local_costs
from anyscene.costs.measuring import fit_costs
from anyscene.costs.painting import measure_detail
from anyscene.costs.plans import stages, work_of
from anyscene.costs.slowness import Slowness
from anyscene.costs.steps import CostModel, StepCost
from anyscene.engine.choosing import Chooser, Moment, PolicyChooser
from anyscene.engine.clock import Clock
from anyscene.engine.evidence import LazyEvidence
from anyscene.engine.learned import Learned
from anyscene.engine.run import Run
from anyscene.features import Bank, Charge, Work
from anyscene.hierarchy import LAYERS, working_frame
from anyscene.model.actions import Split, split
from anyscene.model.state import State
from anyscene.painting.enlarging import enlarge, find_mixed
from anyscene.painting.leaves import Painter
from anyscene.painting.show import paint_scores
from anyscene.policy.decision import Decision
from anyscene.policy.model import Model
from anyscene.policy.plans import Plan
from anyscene.policy.policies import Policy, RandomPolicy, Situation, StaticPolicy

LARGE_SIDES = ((540, 720), (1080, 1440), (2160, 2880), (3000, 4000))
"""Heights and widths of images that are larger than the working frame."""

OUTLINED_REGIONS = (2, 20)
"""Regions down and across a label map whose outlines are painted: few outlines, and many."""

ACTION_QUANTILE, ACTION_MARGIN = 0.98, 1.2
"""Hardly any action exceeds the quantile of what was seen by more than the margin."""

PLAN_QUANTILE, PLAN_MARGIN = 0.95, 1.1
"""The same for plans. What slows the machine down for longer than a moment is left to `Slowness`."""

LONG_MS, LEAST_PAD_MS = 1.0, 0.4
"""Longer actions vary in proportion to what they take, shorter ones by at least LEAST_PAD_MS."""

DISTANT_MS = 60_000.0
"""A deadline that every plan meets."""

Image = NDArray[np.uint8]


@dataclass(frozen=True)
class Taken:
    """A measured action. ms : all that it took. own : the part spent on neither the tree nor features."""

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
    chooser = PolicyChooser(model, policy, LocalCosts(model.costs, base))

    def walk_again(image: Image, new_policy: Callable[[], Policy]) -> list[list[Taken]]:
        """Walk the same way several times, to tell a disturbance from a slow step."""
        return [_walk(model, chooser, bank, image, new_policy()) for _ in range(rounds)]

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
    charges += _decisions(model, chooser, LazyEvidence(images[0], bank), rounds)
    for leaves, ms in measure_detail(model.pool.classes, rounds).items():
        charges.append(Charge(Work(deadline.DETAIL, 0, leaves), ms))
    for sides in LARGE_SIDES:
        _frame_and_paint(sides)  # touches the memory that painting is given again later
        for same in zip(*(_frame_and_paint(sides) for _ in range(rounds)), strict=True):
            charges.append(Charge(same[0].work, median(charge.ms for charge in same)))
    for sides in (deadline.REFERENCE, *LARGE_SIDES):
        charges += [_paint_confidence(sides, model.pool.classes) for _ in range(1 + rounds)][1:]
    for sides in LARGE_SIDES[:-1]:
        for regions in OUTLINED_REGIONS:
            charges += [_paint_outlines(sides, regions) for _ in range(1 + rounds)][1:]
    steps = CostModel(base.key, {**base.steps, **fit_costs(charges)})
    taken = [
        replace(same[0], ms=median(step.ms for step in same))
        for again in walks
        for same in zip(*again, strict=True)
    ]
    return CostModel(base.key, {**steps.steps, **_whole_actions(taken, model, steps, bank)})


def _walk(model: Model, chooser: Chooser, bank: Bank, image: Image, policy: Policy) -> list[Taken]:
    """Label an image as a policy says and measure each action."""
    evidence = LazyEvidence(image, bank)
    frame = image.shape[0], image.shape[1]
    state = model.start()
    taken: list[Taken] = []
    while True:
        begun = time.thread_time()
        chooser.choose(Moment(partial(_same, state), (), frame, deadline.UNLIMITED))
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
                Charge(Work(deadline.DECIDE, 0, len(state.leaves)), deciding),
                Charge(_own_work(situation, action, len(after.leaves)), own),
                frame_share(frame),
            )
        )
        state = after


def _decisions(model: Model, chooser: Chooser, evidence: LazyEvidence, rounds: int) -> list[Charge]:
    """Measure deciding in states of more and more leaves, up to all that there can be."""
    state, charges = model.start(), []
    for layer in range(evidence.layer_count):
        if layer:
            state = split(state, -1.0, model.pool, evidence)  # no entropy is as low
        work = Work(deadline.DECIDE, 0, len(state.leaves))
        for _ in range(rounds):
            begun = time.thread_time()
            chooser.choose(Moment(partial(_same, state), (), deadline.REFERENCE, deadline.UNLIMITED))
            charges.append(Charge(work, _ms_since(begun)))
    return charges


def _own_work(situation: Situation, action: int, leaves_after: int) -> Work:
    chosen, state = situation.pool.actions[action], situation.state
    if isinstance(chosen, Split):
        return Work(deadline.SPLIT, 0, leaves_after)
    rows = int(state.active.sum())
    return Work(deadline.UPDATE, rows * (chosen.size - int(state.applied[chosen.chain])), rows)


def _frame_and_paint(sides: tuple[int, int]) -> list[Charge]:
    """Measure scaling a large image down, and painting its labels."""
    image = np.zeros((*sides, 3), np.uint8)
    image[::2, 1::2] = 255
    pixels = sides[0] * sides[1]
    begun = time.thread_time()
    frame = working_frame(image)
    framing = Charge(Work(deadline.FRAME, pixels), _ms_since(begun))
    evidence = LazyEvidence(frame, {})
    nodes = evidence.nodes(LAYERS - 1)
    leaves = np.arange(nodes.start[-2], nodes.start[-1], dtype=np.int32)
    begun = time.thread_time()
    paint = Painter(evidence.tree, nodes, leaves, sides)
    paint(np.zeros(len(leaves), np.int16))
    return [framing, Charge(Work(deadline.PAINT, pixels), _ms_since(begun))]


def _paint_confidence(sides: tuple[int, int], classes: int) -> Charge:
    """Measure painting how sure labels are, from a map of the usual size."""
    logs = np.log(np.random.default_rng(0).dirichlet(np.ones(classes), (45, 60)).astype(np.float32))
    painted = paint_scores(logs, 1.2, sides)
    begun = time.thread_time()
    painted.confidence()
    return Charge(Work(deadline.CONFIDENCE, sides[0] * sides[1]), _ms_since(begun))


def _paint_outlines(sides: tuple[int, int], regions: int) -> Charge:
    """Measure labels along a large image's own outlines, between this many regions down and across."""
    image = np.random.default_rng(0).integers(0, 256, (*sides, 3), dtype=np.uint8)
    frame = working_frame(image)
    rows, columns = (np.arange(side) * regions // side for side in frame.shape[:2])
    labels = ((rows[:, None] + columns) % 2).astype(np.int16)
    begun = time.thread_time()
    mixed = find_mixed(labels)
    enlarge(labels, mixed, frame, image)
    ms = _ms_since(begun)
    pixels = sides[0] * sides[1]
    return Charge(Work(deadline.OUTLINES, pixels, round(pixels * float(mixed.mean()))), ms)


def _whole_actions(taken: Sequence[Taken], model: Model, steps: CostModel, bank: Bank) -> dict[str, StepCost]:
    """Compare what actions took with what their steps typically take, for each kind of action."""
    costs = local_costs(steps, bank, model.costs.branching)

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

    return {deadline.WHOLE_UPDATE: exceeding(False), deadline.WHOLE_SPLIT: exceeding(True)}


def _exceeding(typical: NDArray[np.float64], actual: NDArray[np.float64]) -> StepCost:
    """How far actions exceed what is typical: by a factor, which long ones need, and some milliseconds.

    The shortest vary most.
    """
    if not len(typical):
        return StepCost(LEAST_PAD_MS, 0.0, 0.0, ACTION_MARGIN)
    long = typical >= LONG_MS
    ratio = float(np.quantile(actual[long] / typical[long], ACTION_QUANTILE)) if long.any() else 1.0
    high = max(1.0, ratio) * ACTION_MARGIN
    pad = max(LEAST_PAD_MS, float(np.quantile(actual - high * typical, ACTION_QUANTILE)))
    return StepCost(pad, 0.0, 0.0, high)


def with_plans(
    base: CostModel, learned: Learned, bank: Bank, images: Sequence[Image], rounds: int
) -> CostModel:
    """Add what plans take, each timed whole in frames of several sizes, image after image."""
    if not learned.plans:
        return base
    local = local_costs(base, bank, learned.model.costs.branching)
    timed = []
    for plan in learned.plans:
        label = partial(_time_plan, learned, local, bank, plan)
        label(images[0])  # compiles, and warms caches
        timed += [label(image) for image in images for _ in range(rounds)]
    fitted = fit_costs([charge for run in timed for charge in run])

    def typical(run: Sequence[Charge]) -> float:
        return sum(fitted[charge.work.step].typical(charge.work) for charge in run)

    high = max(1.0, float(np.quantile([_total(run) / typical(run) for run in timed], PLAN_QUANTILE)))
    # Short plans suffer most when caches are full of something else: what the dearest one looked at.
    cold = []
    for plan in learned.plans[: -(-len(learned.plans) // 2)]:
        for image in images[:rounds]:
            _time_plan(learned, local, bank, learned.plans[-1], image)
            run = _time_plan(learned, local, bank, plan, image)
            cold.append(_total(run) - typical(run))
    excess = StepCost(max(0.0, float(np.median(cold))), 0.0, 0.0, high * PLAN_MARGIN)
    return CostModel(base.key, {**base.steps, **fitted, deadline.WHOLE_PLAN: excess})


def _total(run: Sequence[Charge]) -> float:
    return sum(charge.ms for charge in run)


def _time_plan(learned: Learned, local: LocalCosts, bank: Bank, plan: Plan, image: Image) -> list[Charge]:
    """Label an image by a plan; return the CPU time of each action, and of the rest of the call."""
    begun = time.thread_time()
    run = Run(learned, local, _FollowPlan(plan), bank, image, Clock(DISTANT_MS), Slowness())
    ends = [begun]
    while run.advance():
        ends.append(time.thread_time())
    run.labeling()
    ended = time.thread_time()
    spent = [*np.diff(ends), ended - ends[-1]]
    frame = image.shape[0], image.shape[1]
    return [
        Charge(work_of(stage, frame), 1e3 * seconds)
        for stage, seconds in zip(stages(plan, learned.model.pool), spent, strict=True)
    ]


class _FollowPlan:
    """Chooses the actions of one plan, whatever they take."""

    needs_state = False

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def first_labels(self, frame: tuple[int, int]) -> Decision | None:
        """Nothing: the deadline is distant."""
        return None

    def choose(self, moment: Moment) -> Decision | None:
        """Return the plan's next action."""
        actions, cost, place = self._plan.actions, self._plan.cost, len(moment.taken)
        if place == len(actions):
            return None
        return Decision(actions[place], cost[place + 1] - cost[place], 0.0, 0.0)


def _same(state: State) -> State:
    return state


def _ms_since(begun: float) -> float:
    return (time.thread_time() - begun) * 1e3
