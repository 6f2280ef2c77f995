"""States that wait until somebody asks for them, with the shipped CamVid model."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import anyscene
from anyscene.engine.deciding import LearnedDecider, PolicyDecider
from anyscene.engine.evidence import LazyEvidence
from anyscene.engine.foresight import REFERENCE, UNLIMITED, Foresight, Most
from anyscene.engine.loading import bank_of, find_model
from anyscene.engine.plan_prices import stages
from anyscene.engine.trail import Trail, plain_blend
from anyscene.features.costs import CostModel, StepCost
from anyscene.model.actions import Split, advance
from anyscene.model.modelfile import load_model
from anyscene.model.painting import paint_detail, show
from anyscene.model.policies import ALWAYS, HIGHEST


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


def test_a_policy_that_only_follows_its_guide_decides_alike_without_a_state(trained, bank, image):
    model = trained.model
    guide = tuple(model.pool.actions.index(action) for action in plain_actions(model)[:4])
    policy = replace(trained.policies["D-NM"], guide=guide, loyalty=ALWAYS, stop_below=HIGHEST)
    here = replace(model.costs, items=3 * model.costs.items, step=1.0)
    foresight = Foresight(here, CostModel("made up", {}))
    blind, seeing = (kind(model, policy, foresight) for kind in (LearnedDecider, PolicyDecider))
    evidence, state, taken, frame = LazyEvidence(image, bank), model.start(), (), image.shape[:2]

    def none_needed():
        raise AssertionError("a state was asked for")

    while (decided := blind.decide(none_needed, taken, frame, UNLIMITED)) is not None:
        expected = seeing.decide(partial(_given, state), taken, frame, UNLIMITED)
        assert decided.action == expected.action
        assert (decided.cost, decided.predicted_ms) == pytest.approx((expected.cost, expected.predicted_ms))
        state = advance(state, model.pool.actions[decided.action], model.pool, evidence, decided.cost)
        taken = (*taken, decided.action)
    assert taken == guide
    assert seeing.decide(partial(_given, state), taken, frame, UNLIMITED) is None


def test_a_guide_that_says_something_twice_is_left_to_the_policy(trained):
    model = trained.model
    once, other = (model.pool.actions.index(action) for action in plain_actions(model)[:2])
    foresight = Foresight(model.costs, CostModel("made up", {}))
    policy = replace(trained.policies["D-NM"], loyalty=ALWAYS, stop_below=HIGHEST)
    for guide, needs_state in (((once, other), False), ((once, other, once), True)):
        assert LearnedDecider(model, replace(policy, guide=guide), foresight).needs_state is needs_state
    assert LearnedDecider(model, replace(policy, guide=(once,), loyalty=1.0), foresight).needs_state


def test_by_a_short_deadline_the_smallest_rung_is_risked_after_the_labels_without_a_network(trained):
    model, plans = trained.model, trained.plans[:2]
    steps = {stage.step for plan in plans for stage in stages(plan, model.pool)}
    one_each = CostModel("made up", dict.fromkeys(steps, StepCost(1.0, 0.0, 0.0, 1.2)))
    foresight = Foresight(model.costs, one_each)
    decider = LearnedDecider(model, trained.policies["D-NM"], foresight, plans)
    place, rung = (plan.actions[0] for plan in plans)

    def choice(taken, most):
        decided = decider.decide(model.start, taken, REFERENCE, most)
        return decided and decided.action

    assert choice((), Most(0.0, 0.0, 2.0, risked=0.0)) in (place, rung)  # both typically take as long
    assert choice((), Most(0.0, 0.0, 1.9, risked=2.0)) == rung
    assert choice((), Most(0.0, 0.0, 1.9, risked=1.9)) is None


def _given(state):
    return state


def test_nothing_is_pooled_before_a_state_is_asked_for(trained, bank, image):
    model = trained.model
    action = plain_actions(model)[0]
    evidence, trail = LazyEvidence(image, bank), Trail(model.start(), model.pool)
    evidence.extract(model.pool.chains[action.chain], model.pool)
    assert trail.take(action, 2.0) == 1

    def steps():
        return {charge.work.step.partition(":")[0] for charge in evidence.ledger.charges}

    assert steps() == {"extract"}
    expected = advance(model.start(), action, model.pool, LazyEvidence(image, bank), 2.0)
    np.testing.assert_array_equal(trail.state(evidence).belief, expected.belief)
    assert trail.state(evidence) is trail.state(evidence, 1)
    assert trail.mean_entropy(evidence, 1) == pytest.approx(float(expected.area @ expected.entropy))
    assert "average" in steps()


def test_an_action_that_ran_out_of_time_leaves_no_trace(trained):
    model = trained.model
    trail = Trail(model.start(), model.pool)
    trail.take(plain_actions(model)[0], 2.0)
    trail.give_up()
    assert trail.state(None).steps == 0
