"""The engine: anytime labels under a clock, at any size, from any thread."""

import itertools
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from PIL import Image

from anyscene.costs.deadline import OUTLINES, OWN_STEPS, LocalCosts, frame_share
from anyscene.costs.measuring import QUICK_SIZES, calibration_images
from anyscene.costs.slowness import Slowness
from anyscene.costs.steps import CostModel, StepCost
from anyscene.engine.choosing import PolicyChooser
from anyscene.engine.clock import Clock
from anyscene.engine.engine import Engine
from anyscene.engine.evidence import LazyEvidence
from anyscene.engine.measuring import _decisions, with_own_steps
from anyscene.engine.progress import Progress
from anyscene.engine.ready import known_or_measured
from anyscene.engine.run import Run
from anyscene.errors import ConfigError, DataError
from anyscene.features.hypercolumn.watchdog import OutOfTime
from anyscene.model.actions import Split, Update
from anyscene.policy.decision import Decision
from anyscene.policy.policies import RandomPolicy, Situation


def with_costs(engine, **changes):
    """The same engine on a machine with another cost table."""
    return Engine(engine.learned, replace(engine.local, **changes), engine._bank)


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
    out = engine.label(scenes[0].image, budget="0ms", confidence=True)
    assert out.trace == ()
    assert out.is_prior
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
    costs = engine.local.actions
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
        **engine.local.calibration.steps,
        "action:update": StepCost(0.5, 0, 0, 1.5),
        "action:split": StepCost(0.5, 0, 0, 1.5),
        "paint:image": StepCost(1.0, 0, 0, 1.0),
    }
    local = LocalCosts(slow, CostModel("made up", steps))
    policy = Watching(engine.learned.policy)
    chooser = PolicyChooser(engine.learned.model, policy, local)
    run = Run(engine.learned, local, chooser, engine._bank, scenes[0].image, Clock(budget), Slowness())
    share = frame_share(scenes[0].image.shape[:2])
    while run.advance():
        pass
    spent = [0.0, *itertools.accumulate(step.actual_ms for step in run.steps)]
    for situation, before in zip(policy.seen, spent, strict=False):
        high = slow.of_actions(situation.state, situation.pool, situation.coverage) * share * 1.5 + 0.5
        assert np.all(high[situation.offered] <= budget - 1.0 - before)


def test_by_plan_a_plan_is_followed_at_a_deadline_that_the_policy_would_meet_too(engine, scenes):
    plan = engine.learned.plans[0]
    done = [step.action for step in engine.by_plan(plan).label(scenes[0].image, "10min").trace]
    assert done == [engine.learned.action_names[action] for action in plan.actions]
    assert len(engine.label(scenes[0].image, "10min").trace) > len(done)


def test_nothing_fits_on_a_machine_that_is_too_slow(engine, scenes):
    steps = engine.local.calibration.steps
    slower = {step: replace(cost, fixed=1e4) if "plan:" in step else cost for step, cost in steps.items()}
    actions = replace(engine.local.actions, step=1e4)
    slow = with_costs(engine, actions=actions, calibration=CostModel("made up", slower))
    assert slow.label(scenes[0].image, budget="1s").trace == ()
    assert len(slow.label(scenes[0].image).trace) > 2


def begun(engine, image, budget, confidence=False):
    """A run on a machine that is as fast as when it was measured."""
    slowness = Slowness()
    slowness.factor = 1.0
    parts = engine.learned, engine.local, engine._choosers.for_budget(budget), engine._bank
    return Run(*parts, image, Clock(budget), slowness, confidence)


def test_what_was_in_hand_stands_when_an_action_is_stopped_and_the_machine_is_known_to_be_slow(
    engine, scenes, monkeypatch
):
    run = begun(engine, scenes[0].image, 1e4)
    assert run.advance()
    before, slowness = run.labeling().labels, run._slowness.factor

    def stopped(*_):
        raise OutOfTime

    monkeypatch.setattr(Progress, "take", stopped)
    monkeypatch.setattr(
        run._chooser.__class__, "choose", lambda *_: Decision(0, 1.0, predicted_ms=5.0, rest_ms=0.5)
    )
    assert not run.advance()
    assert len(run.steps) == len(run.taken) == 1
    assert run._slowness.factor > slowness
    np.testing.assert_array_equal(run.labeling().labels, before)


def test_a_network_is_stopped_early_enough_to_paint(engine, scenes):
    run = begun(engine, scenes[0].image, 50.0)
    assert run.advance()
    assert run.look()._regions.view.deadline < run.clock.ends_at
    planned = Decision(0, 1.0, 5.0, rest_ms=2.0)
    assert run._reserve(planned) > 2.0 * engine.local.plan_high
    assert run._reserve(planned._replace(rest_ms=None)) > run._at.painting
    run._slowness.factor = 2.0
    assert run._reserve(planned) > 4.0 * engine.local.plan_high


def test_what_plans_were_not_timed_with_is_kept_back(engine, scenes, monkeypatch):
    monkeypatch.setattr(Clock, "remaining", lambda _: 1000.0)
    plain = begun(engine, scenes[0].image, 1e6)
    sure = begun(engine, scenes[0].image, 1e6, confidence=True)
    glancing = begun(engine, scenes[0].image, 1e6)
    glancing.finish(until=0.0)
    for run, extra in ((sure, sure._at.confidence), (glancing, glancing._at.painting)):
        assert extra > 0
        kept_back = plain._limits().update - run._limits().update
        assert kept_back == pytest.approx(
            extra / (1000.0 - plain._at.painting) * plain._limits().update, rel=0.05
        )


def test_slow_calls_make_the_next_ones_careful(engine, scenes):
    hurried = with_costs(engine)
    hurried._slowness.factor = 3.0
    limits = hurried.begin(scenes[0].image, 1e4)._limits()
    assert limits.risked > limits.plan
    assert limits.plan < engine.begin(scenes[0].image, 1e4)._limits().plan / 2


def test_decisions_do_not_depend_on_the_machine(engine, scenes):
    """Local costs say what fits; the ranking is by the costs in the model."""
    other = with_costs(engine, actions=replace(engine.local.actions, step=3.0, tree=0.01))
    actions = [[step.action for step in each.label(scenes[0].image).trace] for each in (engine, other)]
    assert actions[0] == actions[1]


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
            engine.label(kind, "1min", confidence=True)
    assert {kernel: len(kernel.signatures) for kernel in all_kernels() if kernel in known} == known


def all_kernels():
    """Every compiled function of anyscene that was loaded."""
    modules = [module for name, module in sys.modules.items() if name.startswith("anyscene.")]
    return {value for module in modules for value in vars(module).values() if isinstance(value, Dispatcher)}


def test_confidence_is_told_where_it_is_free_or_asked_for(engine, scenes):
    image = scenes[0].image
    assert engine.label(image).confidence is not None
    assert engine.label(image, "1min").confidence is None
    assert engine.label(image, "1min", confidence=True).confidence is not None
    assert engine.label(image, confidence=False).confidence is None


def test_a_labeling_can_be_sent_to_another_process(engine, scenes):
    out = engine.label(scenes[0].image)
    assert pickle.loads(pickle.dumps(out)) == out


def test_until_stops_when_sure_enough(engine, scenes):
    whole = engine.label(scenes[0].image)
    assert engine.label(scenes[0].image, until=0.0).trace == ()
    target = float(whole.confidence.mean()) - 0.05
    some = engine.label(scenes[0].image, until=target)
    assert len(some.trace) <= len(whole.trace)
    assert some.confidence.mean() >= target - 1e-3
    assert [one.trace for one in engine.stream(scenes[0].image, until=0.0)] == [()]
    *_, last = engine.stream(scenes[0].image, until=target)
    np.testing.assert_array_equal(last.labels, some.labels)
    assert len(last.trace) == len(some.trace)
    with pytest.raises(ConfigError, match="between 0 and 1"):
        engine.label(scenes[0].image, until=95)


@pytest.mark.parametrize("size", [(1, 1), (1, 500), (700, 1), (2, 3), (33, 65), (360, 480), (900, 700)])
def test_labels_have_the_size_of_the_image(engine, size):
    image = np.random.default_rng(0).integers(0, 256, (*size, 3), dtype=np.uint8)
    for budget in (None, 5):
        out = engine.label(image, budget, confidence=True)
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


def test_a_large_photo_has_its_own_outlines_where_there_is_time(engine, scenes):
    photo = np.asarray(Image.fromarray(scenes[0].image).resize((1200, 900)))
    slow = dict(engine.local.calibration.steps)
    slow[OUTLINES] = StepCost(1e4, 0.0, 0.0, 1.0)
    hurried = with_costs(engine, calibration=CostModel("slow", slow))
    stairs = hurried.label(photo, "5s").labels
    assert in_steps(stairs, (360, 480))
    for labels in (engine.label(photo, "5s").labels, engine.label(photo).labels):
        assert not in_steps(labels, (360, 480))
        assert np.mean(labels == stairs) > 0.9


def in_steps(labels, frame):
    """Tell whether all pixels within a pixel of a smaller frame have one label."""
    own = [
        (2 * np.arange(side) + 1) * small // (2 * side)
        for side, small in zip(labels.shape, frame, strict=True)
    ]
    first = [np.searchsorted(lines, lines) for lines in own]
    return np.array_equal(labels, labels[np.ix_(*first)])


def test_a_panorama_is_labelled_in_windows_where_there_is_time(engine, scenes):
    panorama = np.concatenate([scene.image.repeat(4, 0).repeat(4, 1) for scene in scenes], axis=1)
    truth = np.concatenate([scene.truth.repeat(4, 0).repeat(4, 1) for scene in scenes], axis=1)
    whole, windows = engine.label(panorama, 2.5 * engine._ample_ms), engine.label(panorama)
    assert not any(step.action.startswith("window") for step in whole.trace)
    assert {step.action.partition(":")[0] for step in windows.trace} == {f"window {n}" for n in range(1, 6)}
    assert windows.labels.shape == windows.confidence.shape == truth.shape
    at_ease = engine.label(panorama, "20s")
    np.testing.assert_array_equal(at_ease.labels, windows.labels)
    assert at_ease.deadline_met
    *_, as_whole = engine.stream(panorama)
    assert np.mean(windows.labels == truth) > np.mean(as_whole.labels == truth)


def test_a_view_of_a_larger_array_is_an_image_like_any_other(engine, scenes):
    image = scenes[0].image
    wide = np.zeros((image.shape[0] * 2, image.shape[1] * 2, 3), np.uint8)
    wide[::2, ::2] = image
    np.testing.assert_array_equal(engine.label(wide[::2, ::2]).labels, engine.label(image).labels)
    image.flags.writeable = False
    np.testing.assert_array_equal(engine.label(image).labels, engine.label(wide[::2, ::2]).labels)


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
    *_, last = engine.stream(scenes[0].image, threads=2)
    np.testing.assert_array_equal(last.labels, two.labels)
    with pytest.raises(ConfigError, match="at least one thread"):
        engine.label(scenes[0].image, threads=0)
    with pytest.raises(ConfigError, match="at least one thread"):
        next(engine.stream(scenes[0].image, threads=0))


def test_a_calibration_is_kept_and_made_again_when_a_step_is_missing(engine):
    from anyscene.costs.calibration_file import calibration_key, load_calibration, save_calibration

    learned, bank = engine.learned, engine._bank
    kept = load_calibration(calibration_key(bank))
    assert kept is not None
    assert known_or_measured(learned, bank).calibration == kept
    of_plans = [step for step in kept.steps if step.startswith("plan:")]
    assert of_plans
    for lost in ("action:split", of_plans[0]):
        save_calibration(CostModel(kept.key, {name: kept.steps[name] for name in kept.steps if name != lost}))
        assert known_or_measured(learned, bank).calibration.steps.keys() == kept.steps.keys()


def test_deciding_is_measured_for_as_many_leaves_as_there_can_be(engine, scenes):
    """Walks of few leaves once foretold eleven milliseconds for a decision that takes a twentieth of one."""
    model, evidence = engine.learned.model, LazyEvidence(scenes[0].image, engine._bank)
    chooser = PolicyChooser(model, engine.learned.policy, engine.local)
    charges = _decisions(model, chooser, evidence, rounds=2)
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
    base = engine.local.calibration
    trees_and_features = {name: cost for name, cost in base.steps.items() if name not in OWN_STEPS}
    policy = RandomPolicy(np.random.default_rng(0))
    images = calibration_images(1, seed=0, sizes=QUICK_SIZES)
    made = with_own_steps(CostModel(base.key, trees_and_features), crowded, policy, bank, images, rounds=1)
    assert made.steps.keys() >= set(OWN_STEPS)


def test_paths_pil_images_and_frames_of_opencv_are_the_same_image(engine, scenes, tmp_path):
    image = scenes[0].image
    expected = engine.label(image)
    Image.fromarray(image).save(tmp_path / "a.png")
    for same in (tmp_path / "a.png", Image.fromarray(image), np.asarray(image)):
        np.testing.assert_array_equal(engine.label(same).labels, expected.labels)
    frame = np.ascontiguousarray(image[:, :, ::-1])
    np.testing.assert_array_equal(engine.label(frame, channels="bgr").labels, expected.labels)
    *_, last = engine.stream(frame, channels="bgr", until=1.0, threads=1)
    np.testing.assert_array_equal(last.labels, expected.labels)
    first_red = replace(engine.learned, familiarity=lambda image, features: int(image[0, 0, 0]))
    assert image[0, 0, 0] != image[0, 0, 2]
    assert Engine(first_red, engine.local, engine._bank).familiarity(frame, "bgr") == image[0, 0, 0]


def test_what_is_no_image_is_one_sentence(engine):
    for wrong in (None, [[1]], np.zeros((4, 4, 3))):
        with pytest.raises(DataError, match="an image"):
            engine.label(wrong)
