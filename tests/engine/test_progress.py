"""States that wait until somebody asks for them, with the shipped CamVid model."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import anyscene
from anyscene.costs.deadline import OWN_STEPS, REFERENCE, UNLIMITED, WHOLE_PLAN, Limits, LocalCosts
from anyscene.costs.plans import stages
from anyscene.costs.steps import CostModel, StepCost
from anyscene.engine.choosing import Moment, PlanChooser, PolicyChooser, SequenceChooser, follows_blindly
from anyscene.engine.engine import Engine
from anyscene.engine.evidence import LazyEvidence
from anyscene.engine.learned import plain_blend
from anyscene.engine.loading import bank_of, find_model, learned_from
from anyscene.engine.progress import Progress
from anyscene.features.hypercolumn.watchdog import OutOfTime
from anyscene.model.actions import Split, advance
from anyscene.modelfile import load_model
from anyscene.painting.show import paint_detail, show
from anyscene.policy.decision import Decision
from anyscene.policy.policies import LearnedPolicy, StaticPolicy


@pytest.fixture(scope="module")
def trained():
    return load_model(find_model("camvid"))


@pytest.fixture(scope="module")
def bank(trained):
    return bank_of(trained)


@pytest.fixture(scope="module")
def image():
    return anyscene.data.open("streets:1?size=240x180").split("all").image(0)


def plain_actions(model):
    return [action for action in model.pool.actions if plain_blend(action, model.pool)]


def test_a_split_is_no_plain_blend(trained):
    pool = trained.model.pool
    assert plain_actions(trained.model)
    assert not any(plain_blend(action, pool) for action in pool.actions if isinstance(action, Split))


def test_a_plain_blend_is_painted_as_the_state_that_it_leads_to(trained, bank, image):
    model, size, compared = trained.model, image.shape[:2], 0
    evidence = LazyEvidence(image, bank)
    for action in plain_actions(model)[:6]:
        chain = model.pool.chains[action.chain]
        state = advance(model.start(), action, model.pool, evidence, 1.0)
        detail = evidence.detail(state, model.pool)
        by_state, _ = show(state, evidence.tree, evidence.nodes(0), size, 1.0, detail)
        nothing = np.zeros((1, model.pool.classes), np.float32), np.zeros(1, np.int32)
        blended = evidence.blend(chain, model.pool, model.start().belief[0])
        plainly, _ = paint_detail(blended, *nothing, evidence.tree, evidence.nodes(0), 1.0, size)
        # A class that the image as a whole all but rules out is floored in the state's belief alone.
        assert (by_state == plainly).mean() > 0.999
        compared += 1
    assert compared


def test_a_sequence_of_blends_is_followed_without_a_state_as_a_policy_would(trained, bank, image):
    model = trained.model
    sequence = tuple(model.pool.actions.index(action) for action in plain_actions(model)[:4])
    here = replace(model.costs, items=3 * model.costs.items, step=1.0)
    local = LocalCosts(here, CostModel("made up", {}))
    blind = SequenceChooser(model, sequence, local)
    seeing = PolicyChooser(model, StaticPolicy(sequence), local)
    evidence, state, taken, frame = LazyEvidence(image, bank), model.start(), (), image.shape[:2]

    def none_needed():
        raise AssertionError("a state was asked for")

    while (decided := blind.choose(Moment(none_needed, taken, frame, UNLIMITED))) is not None:
        expected = seeing.choose(Moment(partial(_same, state), taken, frame, UNLIMITED))
        assert decided.action == expected.action
        assert (decided.cost, decided.predicted_ms) == pytest.approx((expected.cost, expected.predicted_ms))
        state = advance(state, model.pool.actions[decided.action], model.pool, evidence, decided.cost)
        taken = (*taken, decided.action)
    assert taken == sequence
    assert seeing.choose(Moment(partial(_same, state), taken, frame, UNLIMITED)) is None


def test_a_sequence_that_says_something_twice_needs_states(trained):
    model = trained.model
    once, other = (model.pool.actions.index(action) for action in plain_actions(model)[:2])
    assert follows_blindly(StaticPolicy((once, other)), model)
    assert not follows_blindly(StaticPolicy((once, other, once)), model)


def test_shipped_policies_of_version_2_that_only_followed_a_guide_are_sequences(trained):
    assert isinstance(trained.policies["D-NM"], StaticPolicy)
    assert isinstance(trained.policies["D-M"], LearnedPolicy)


def test_by_a_short_deadline_the_smallest_rung_is_risked_where_labels_without_a_network_can_follow(trained):
    model, plans = trained.model, trained.plans[:2]
    steps = {stage.step for plan in plans for stage in stages(plan, model.pool)}
    one_each = CostModel("made up", dict.fromkeys(steps, StepCost(1.0, 0.0, 0.0, 1.2)))
    chooser = PlanChooser(model, plans, LocalCosts(model.costs, one_each))
    place, rung = (plan.actions[0] for plan in plans)

    def choice(limits):
        decided = chooser.choose(Moment(model.start, (), REFERENCE, limits))
        return decided and decided.action

    assert choice(Limits(0.0, 0.0, 2.0, risked=0.0)) in (place, rung)  # both typically take as long
    assert choice(Limits(0.0, 0.0, 1.9, risked=3.0)) == rung  # one for each action, one to paint
    assert choice(Limits(0.0, 0.0, 1.9, risked=2.9, first=2.0)) == place
    assert choice(Limits(0.0, 0.0, 1.9, risked=2.9, first=1.9)) is None


def _same(state):
    return state


def test_nothing_is_pooled_before_a_state_is_asked_for(trained, bank, image):
    model = trained.model
    index = model.pool.actions.index(plain_actions(model)[0])
    evidence, progress = LazyEvidence(image, bank), Progress(learned_from(trained), states_wait=True)
    progress.take(index, 2.0, evidence)

    def steps():
        return {charge.work.step.partition(":")[0] for charge in evidence.ledger.charges}

    assert steps() == {"extract"}
    assert progress.taken == (index,)
    assert progress.mean_entropy is None
    expected = advance(model.start(), model.pool.actions[index], model.pool, LazyEvidence(image, bank), 2.0)
    np.testing.assert_array_equal(progress.state(evidence).belief, expected.belief)
    assert progress.mean_entropy == pytest.approx(float(expected.area @ expected.entropy))
    assert "average" in steps()


def test_an_action_that_ran_out_of_time_leaves_no_trace(trained, bank, image, monkeypatch):
    model = trained.model
    index = model.pool.actions.index(plain_actions(model)[0])

    def stopped(*_):
        raise OutOfTime

    monkeypatch.setattr(LazyEvidence, "extract", stopped)
    progress = Progress(learned_from(trained), states_wait=True)
    with pytest.raises(OutOfTime):
        progress.take(index, 2.0, LazyEvidence(image, bank))
    assert progress.taken == ()
    assert progress.state(None).steps == 0


def test_a_network_that_is_stopped_at_once_leaves_first_labels_to_show(trained, bank, image, monkeypatch):
    learned = learned_from(trained)
    network = next(i for i, name in enumerate(learned.action_names) if "hypercolumn" in name)
    steps = {stage.step for plan in learned.plans for stage in stages(plan, learned.model.pool)}
    known = CostModel("made up", dict.fromkeys((*OWN_STEPS, *steps), StepCost(0.1, 0.0, 0.0, 1.2)))
    engine = Engine(learned, LocalCosts(learned.model.costs, known), bank)
    take = Progress.take

    def boldly(self, moment):
        return None if moment.taken else Decision(network, 1.0, predicted_ms=1.0, rest_ms=0.1)

    def stopped(self, index, cost, evidence):
        if index == network:
            raise OutOfTime
        return take(self, index, cost, evidence)

    monkeypatch.setattr(PlanChooser, "choose", boldly)
    monkeypatch.setattr(Progress, "take", stopped)
    out = engine.label(image, budget="10s")
    assert not out.is_prior
    assert len(out.trace) == 1
    assert len(np.unique(out.labels)) > 1


def test_where_no_plan_fits_for_sure_the_first_labels_are_shown_in_place_of_the_prior(trained, bank, image):
    learned = learned_from(trained)
    quick, *others = ([stage.step for stage in stages(plan, learned.model.pool)] for plan in learned.plans)
    known = {
        **dict.fromkeys(OWN_STEPS, StepCost(0.1, 0.0, 0.0, 1.2)),
        **{step: StepCost(1e3, 0.0, 0.0, 1.2) for steps in others for step in steps},
        **dict.fromkeys(quick, StepCost(0.1, 0.0, 0.0, 1.2)),
        WHOLE_PLAN: StepCost(100.0, 0.0, 0.0, 1.2),  # with cold caches everything takes so much longer
    }
    engine = Engine(learned, LocalCosts(learned.model.costs, CostModel("made up", known)), bank)
    out = engine.label(image, budget="80ms")
    assert not out.is_prior
    assert [step.action for step in out.trace] == [learned.action_names[learned.plans[0].actions[0]]]
    assert engine.label(image, budget=0).is_prior


@pytest.mark.parametrize("budget", [None, "10s"])
def test_an_aim_bounds_what_is_taken_down_to_the_smallest_look_of_a_network(trained, bank, image, budget):
    learned = learned_from(trained)
    steps = {stage.step for plan in learned.plans for stage in stages(plan, learned.model.pool)}
    known = CostModel("made up", dict.fromkeys((*OWN_STEPS, *steps), StepCost(1.0, 0.0, 0.0, 1.2)))
    engine = Engine(learned, LocalCosts(learned.model.costs, known), bank)
    (look,) = engine.label(image, budget, aim_ms=0.0).trace
    assert "hypercolumn" in look.action
    assert len(engine.label(image, budget).trace) > 1
