"""States that wait until somebody asks for them, with the shipped CamVid model."""

import numpy as np
import pytest

import anyscene
from anyscene.engine.evidence import LazyEvidence
from anyscene.engine.loading import bank_of, find_model
from anyscene.engine.trail import Trail, plain_blend
from anyscene.model.actions import Split, advance
from anyscene.model.modelfile import load_model
from anyscene.model.painting import paint_detail, show


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
