"""The engine: anytime labels under a clock, at any size, from any thread."""

import itertools
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from anyscene.engine.calibration import _decisions, with_own_steps
from anyscene.engine.clock import Clock
from anyscene.engine.deciding import Decision, decider_for
from anyscene.engine.engine import CARRIED_CELL, Engine, Run
from anyscene.engine.evidence import LazyEvidence
from anyscene.engine.foresight import OWN_STEPS, Foresight, frame_share
from anyscene.engine.preparing import foresight_for
from anyscene.engine.tempo import Tempo
from anyscene.errors import ConfigError, DataError
from anyscene.features.calibration import QUICK_SIZES, calibration_images
from anyscene.features.costs import CostModel, StepCost
from anyscene.features.hypercolumn.watchdog import OutOfTime
from anyscene.model.actions import Split, Update
from anyscene.model.policies import RandomPolicy, Situation


def with_costs(engine, **changes):
    """The same engine on a machine with another cost table."""
    return Engine(engine.learned, replace(engine.foresight, **changes), engine._bank)


@pytest.fixture(scope="module")
def scenes(streets):
    return [streets.split("val")[index] for index in range(4)]


def test_labels_are_better_than_the_prior(engine, scenes):
    better = [
        np.mean(engine.label(scene.image).labels == scene.truth)
        - np.mean(engine.label(scene.image, budget=0).labels == scene.truth)
        for scene in scenes
    ]
    assert np.mean(better) > 0.1


def test_a_budget_below_the_least_possible_gives_the_prior_at_once(engine, scenes):
    out = engine.label(scenes[0].image, budget="0ms")
    assert out.trace == ()
    assert out.deadline_met is False
    assert len(np.unique(out.labels)) == 1
    assert out.labels[0, 0] == engine.learned.model.prior.argmax()
    top = engine.learned.model.prior.max()
    odds = (top / (1 - top)) ** (1 / engine.learned.temperature)
    assert out.confidence[0, 0] == pytest.approx(odds / (1 + odds), rel=1e-3)


def test_an_unlimited_budget_gives_the_same_labels_every_time(engine, scenes):
    first, second = (engine.label(scenes[0].image) for _ in range(2))
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.confidence, second.confidence)
    assert [step.action for step in first.trace] == [step.action for step in second.trace]
    assert first.deadline_met is None


def test_the_trace_tells_what_was_done(engine, scenes):
    out = engine.label(scenes[0].image)
    assert len(out.trace) > 2
    assert all(step.predicted_ms > 0 and step.actual_ms > 0 for step in out.trace)
    leaves = [step.leaves for step in out.trace]
    assert leaves == sorted(leaves)
    assert sum(step.actual_ms for step in out.trace) <= out.cost
    assert 0 <= out.trace[-1].mean_entropy <= np.log(len(engine.classes))


def test_streaming_ends_where_labeling_does_and_starts_with_the_prior(engine, scenes):
    labelings = list(engine.stream(scenes[0].image))
    assert labelings[0].trace == ()
    assert [len(labeling.trace) for labeling in labelings] == list(range(len(labelings)))
    np.testing.assert_array_equal(labelings[-1].labels, engine.label(scenes[0].image).labels)


class Watching:
    """A policy that notes what it was offered, and how long there was."""

    def __init__(self, policy):
        self.policy = policy
        self.seen: list[Situation] = []

    def choose(self, situation):
        self.seen.append(situation)
        return self.policy.choose(situation)


@pytest.mark.parametrize("budget", [3.0, 10.0, 30.0])
def test_no_action_is_offered_that_would_not_fit(engine, scenes, budget):
    """On a machine where splits take 4 ms each and updates 1 ms, whatever the real one does."""
    costs = engine.foresight.actions
    slow = replace(
        costs,
        step=1.0,
        grow=np.where(np.arange(len(costs.grow)) > 0, 4.0, 0.0),
        region=0.0,
        tree=0.0,
        input=0.0,
        pooling=np.zeros_like(costs.pooling),
        items=np.zeros_like(costs.items),
    )
    steps = {
        **engine.foresight.calibration.steps,
        "action:update": StepCost(0.5, 0, 0, 1.5),
        "action:split": StepCost(0.5, 0, 0, 1.5),
        "paint:image": StepCost(1.0, 0, 0, 1.0),
    }
    foresight = Foresight(slow, CostModel("made up", steps))
    policy = Watching(engine.learned.policy)
    decider = decider_for(engine.learned.model, policy, foresight)
    run = Run(engine.learned, foresight, decider, engine._bank, scenes[0].image, Clock(budget), Tempo())
    share = frame_share(scenes[0].image.shape[:2])
    while run.advance():
        pass
    spent = [0.0, *itertools.accumulate(step.actual_ms for step in run.steps)]
    for situation, before in zip(policy.seen, spent, strict=False):
        high = slow.of_actions(situation.state, situation.pool, situation.coverage) * share * 1.5 + 0.5
        assert np.all(high[situation.offered] <= budget - 1.0 - before)


def test_nothing_fits_on_a_machine_that_is_too_slow(engine, scenes):
    steps = engine.foresight.calibration.steps
    slower = {step: replace(cost, fixed=1e4) if "plan:" in step else cost for step, cost in steps.items()}
    slow = with_costs(engine, calibration=CostModel("made up", slower))
    assert slow.label(scenes[0].image, budget="1s").trace == ()
    assert len(slow.label(scenes[0].image).trace) > 2


def begun(engine, image, budget, carried=None):
    """A run of its own tempo."""
    tempo = Tempo()
    tempo.slowness = 1.0
    parts = engine.learned, engine.foresight, engine._decider, engine._bank
    return Run(*parts, image, Clock(budget), tempo, carried)


def test_what_was_in_hand_stands_when_an_action_is_stopped_and_the_machine_is_known_to_be_slow(
    engine, scenes, monkeypatch
):
    run = begun(engine, scenes[0].image, 1e4)
    assert run.advance()
    before, slowness = run.labeling().labels, run.tempo.slowness

    def stopped(*_):
        raise OutOfTime

    monkeypatch.setattr(Run, "_take", stopped)
    monkeypatch.setattr(
        run._decider.__class__, "decide", lambda *_: Decision(0, 1.0, predicted_ms=5.0, rest_ms=0.5)
    )
    assert not run.advance()
    assert len(run.steps) == len(run.taken) == 1
    assert run.tempo.slowness > slowness
    np.testing.assert_array_equal(run.labeling().labels, before)


def test_a_network_is_stopped_early_enough_to_paint(engine, scenes):
    run = begun(engine, scenes[0].image, 50.0)
    run._take(engine.learned.model.pool.actions[0], run.look(), 1.0, reserve=10.0)
    stops_at = run.evidence._regions.view.deadline
    assert stops_at == pytest.approx(run.clock.ends_at - 0.010)
    planned = Decision(0, 1.0, 5.0, rest_ms=2.0)
    assert run._reserve(planned) > 2.0 * engine.foresight.plan_high
    assert run._reserve(planned._replace(rest_ms=None)) > run._at.painting
    run.tempo.slowness = 2.0
    assert run._reserve(planned) > 4.0 * engine.foresight.plan_high


def test_what_plans_were_not_timed_with_is_kept_back(engine, scenes, monkeypatch):
    monkeypatch.setattr(Clock, "remaining", lambda _: 1000.0)
    plain = begun(engine, scenes[0].image, 1e6)
    shown = engine.begin(scenes[0].image)
    shown.finish()
    carried = begun(engine, scenes[0].image, 1e6, shown.to_carry())
    glancing = begun(engine, scenes[0].image, 1e6)
    glancing.finish(until=0.0)
    for run in (carried, glancing):
        kept_back = plain._most_that_fits().plan - run._most_that_fits().plan
        assert kept_back == pytest.approx(run._at.painting)


def test_slow_calls_make_the_next_ones_careful(engine, scenes):
    hurried = with_costs(engine)
    hurried._tempo.slowness = 3.0
    most = hurried.begin(scenes[0].image, 1e4)._most_that_fits()
    assert most.risked > most.plan
    fits = most.plan
    assert fits < engine.begin(scenes[0].image, 1e4)._most_that_fits().plan / 2


def test_decisions_do_not_depend_on_the_machine(engine, scenes):
    """Local costs say what fits; the ranking is by the costs in the model."""
    other = with_costs(engine, actions=replace(engine.foresight.actions, step=3.0, tree=0.01))
    actions = [[step.action for step in each.label(scenes[0].image).trace] for each in (engine, other)]
    assert actions[0] == actions[1]


def uniform_cells(labels, side):
    """Which pixels lie in whole cells of side x side pixels that show one label."""
    height, width = (length // side * side for length in labels.shape)
    cells = labels[:height, :width].reshape(height // side, side, width // side, side)
    uniform = np.zeros(labels.shape, bool)
    same = (cells == cells[:, :1, :, :1]).all(axis=(1, 3))
    uniform[:height, :width] = same.repeat(side, axis=0).repeat(side, axis=1)
    return uniform


def test_a_frame_without_time_shows_what_the_one_before_it_showed(engine, scenes):
    first = engine.begin(scenes[0].image)
    first.finish()
    shown = first.labeling()
    late = engine.begin(scenes[0].image, budget=0.0, carried=first.to_carry())
    late.finish()
    again = late.labeling()
    assert again.trace == ()
    # It is carried in cells, so outlines are coarser; inside a cell of one label hardly anything changes.
    inside = uniform_cells(shown.labels, CARRIED_CELL)
    assert inside.mean() > 0.3
    assert (again.labels == shown.labels)[inside].mean() > 0.9
    assert late.to_carry() is late.carried
    assert engine.begin(scenes[0].image).to_carry() is None


def test_a_frame_with_time_is_labelled_as_well_with_what_was_carried(engine, scenes):
    carried = None
    for scene in (scenes[0], scenes[0]):
        run = engine.begin(scene.image, carried=carried)
        run.finish()
        carried = run.to_carry()
    plain = engine.label(scenes[0].image)
    assert (run.labeling().labels == plain.labels).mean() > 0.9


def test_nothing_is_compiled_for_an_image_of_another_kind(engine):
    engine.warm_up()
    known = {kernel: len(kernel.signatures) for kernel in all_kernels()}
    large = np.random.default_rng(0).integers(0, 256, (500, 700, 3), dtype=np.uint8)
    for image in (large, large[:90, :120], large[:, ::-1]):
        fixed = image.copy()
        fixed.flags.writeable = False
        for kind in (image, fixed):
            engine.label(kind)
            engine.label(kind, "1min", until=0.999)
            frame = engine.begin(kind, "1min")
            frame.finish()
            engine.begin(kind, 0, frame.to_carry()).labeling().confidence.max()
    assert {kernel: len(kernel.signatures) for kernel in all_kernels() if kernel in known} == known


def all_kernels():
    """Every compiled function of anyscene that was loaded."""
    modules = [module for name, module in sys.modules.items() if name.startswith("anyscene.")]
    return {value for module in modules for value in vars(module).values() if isinstance(value, Dispatcher)}


def test_until_stops_when_sure_enough(engine, scenes):
    whole = engine.label(scenes[0].image)
    assert engine.label(scenes[0].image, until=0.0).trace == ()
    target = float(whole.confidence.mean()) - 0.05
    some = engine.label(scenes[0].image, until=target)
    assert len(some.trace) <= len(whole.trace)
    assert some.confidence.mean() >= target - 1e-3
    with pytest.raises(ConfigError, match="between 0 and 1"):
        engine.label(scenes[0].image, until=95)


@pytest.mark.parametrize("size", [(1, 1), (1, 500), (700, 1), (2, 3), (33, 65), (360, 480), (900, 700)])
def test_labels_have_the_size_of_the_image(engine, size):
    image = np.random.default_rng(0).integers(0, 256, (*size, 3), dtype=np.uint8)
    for budget in (None, 5):
        out = engine.label(image, budget)
        assert out.labels.shape == out.confidence.shape == size
        assert out.labels.min() >= 0
        assert out.labels.max() < len(engine.classes)
        assert out.confidence.min() >= 0
        assert out.confidence.max() <= 1


def test_a_photo_of_twelve_megapixels_is_labelled_at_its_own_size(engine, scenes):
    photo = np.ascontiguousarray(np.resize(scenes[0].image, (3000, 4000, 3)))
    out = engine.label(photo, budget="2s")
    assert out.labels.shape == (3000, 4000)
    assert len(out.trace) > 0


def test_a_view_of_a_larger_array_is_an_image_like_any_other(engine, scenes):
    image = scenes[0].image
    wide = np.zeros((image.shape[0] * 2, image.shape[1] * 2, 3), np.uint8)
    wide[::2, ::2] = image
    np.testing.assert_array_equal(engine.label(wide[::2, ::2]).labels, engine.label(image).labels)
    image.flags.writeable = False
    np.testing.assert_array_equal(engine.label(image).labels, engine.label(wide[::2, ::2]).labels)


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((4, 4), np.uint8),
        np.zeros((4, 4, 4), np.uint8),
        np.zeros((4, 4, 3)),
        np.zeros((0, 4, 3), np.uint8),
    ],
)
def test_what_is_no_image_is_refused(engine, wrong):
    with pytest.raises(DataError, match="an image must be uint8"):
        engine.label(wrong)


def test_eight_threads_may_share_one_engine(engine, scenes):
    expected = [engine.label(scene.image) for scene in scenes]
    jobs = [index % len(scenes) for index in range(64)]

    def work(index):
        budget = None if index % 3 else 4
        return engine.label(scenes[index].image, None if index % 3 else budget)

    with ThreadPoolExecutor(8) as pool:
        for index, out in zip(jobs, pool.map(work, jobs), strict=True):
            assert out.labels.shape == scenes[index].image.shape[:2]
            if index % 3:
                np.testing.assert_array_equal(out.labels, expected[index].labels)


def test_another_number_of_threads_gives_the_same_labels(engine, scenes):
    two = engine.label(scenes[0].image, threads=2)
    np.testing.assert_array_equal(two.labels, engine.label(scenes[0].image).labels)
    assert engine.with_threads(2) is engine.with_threads(2)
    assert engine.with_threads(1) is engine
    with pytest.raises(ConfigError, match="at least one thread"):
        engine.label(scenes[0].image, threads=0)


def test_a_calibration_is_kept_and_made_again_when_a_step_is_missing(engine):
    from anyscene.features.costs import calibration_key, load_calibration, save_calibration

    learned, bank = engine.learned, engine._bank
    kept = load_calibration(calibration_key(bank))
    assert kept is not None
    assert foresight_for(learned, bank).calibration == kept
    of_plans = [step for step in kept.steps if step.startswith("plan:")]
    assert of_plans
    for lost in ("action:split", of_plans[0]):
        save_calibration(CostModel(kept.key, {name: kept.steps[name] for name in kept.steps if name != lost}))
        assert foresight_for(learned, bank).calibration.steps.keys() == kept.steps.keys()


def test_deciding_is_measured_for_as_many_leaves_as_there_can_be(engine, scenes):
    """Walks of few leaves once foretold eleven milliseconds for a decision that takes a twentieth of one."""
    model, evidence = engine.learned.model, LazyEvidence(scenes[0].image, engine._bank)
    decider = decider_for(model, engine.learned.policy, engine.foresight)
    charges = _decisions(model, decider, evidence, rounds=2)
    leaves = [charge.work.regions for charge in charges]
    assert leaves[0] == 1
    assert leaves[-1] == len(evidence.tree.areas[-1]) > 100
    assert leaves == sorted(leaves)
    assert all(charge.ms > 0 for charge in charges)


def test_a_calibration_knows_splits_even_where_hardly_any_action_is_one(engine):
    learned, bank = engine.learned, engine._bank
    pool = learned.model.pool
    splits, updates = ([a for a in pool.actions if isinstance(a, kind)] for kind in (Split, Update))
    many = replace(pool, actions=(splits[0], *(100 * updates)[:400]))
    crowded = replace(learned.model, pool=many, max_steps=2)
    base = engine.foresight.calibration
    trees_and_features = {name: cost for name, cost in base.steps.items() if name not in OWN_STEPS}
    policy = RandomPolicy(np.random.default_rng(0))
    images = calibration_images(1, seed=0, sizes=QUICK_SIZES)
    made = with_own_steps(CostModel(base.key, trees_and_features), crowded, policy, bank, images, rounds=1)
    assert made.steps.keys() >= set(OWN_STEPS)
