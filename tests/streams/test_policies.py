"""Stream policies: what every one of them must do, and what sets each apart."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from anyscene.engine.loading import learned_for, shipped_models
from anyscene.errors import ModelError
from anyscene.marks import is_ours
from anyscene.policy.stream_section import FEATURES, SUFFIX, StreamSection, write_section
from anyscene.streams.live import policy_of
from anyscene.streams.looks import looks_of, rungs_to_look_by
from anyscene.streams.memory import SETTLED_DOUBT
from anyscene.streams.policies import (
    NOTHING,
    DoubtThreshold,
    FixedPeriod,
    LearnedStreamPolicy,
    OraclePolicy,
    RandomStreamPolicy,
    Situation,
)

COSTS = (0.0, 0.1, 1.0)
LOOKS = ("coarse", "fine")


def situation(**changes):
    usual = Situation(100.0, 0.05, 0.6, 0.4, 2, 1.0, COSTS, [True] * 3)
    return replace(usual, **changes)


def learned(prices=(0.002, 0.2), spends=(1.0, 0.05)):
    coefficients = tuple(tuple(worth * (name == "lacking") for name in FEATURES) for worth in (0.03, 0.2))
    return LearnedStreamPolicy((1, 2), coefficients, prices, spends)


POLICIES = {
    "S-M": FixedPeriod(2, 2),
    "threshold": DoubtThreshold(2, 0.5),
    "D-NM": learned(),
    "RS": RandomStreamPolicy(np.random.default_rng(0)),
    "oracle": OraclePolicy((1, 2), (0.1, 0.3), 0.02),
}


@pytest.mark.parametrize("name", POLICIES)
class TestEveryPolicy:
    """The conformance suite: what every stream policy must do."""

    def test_chooses_only_what_is_offered(self, name):
        for offered in ([True, False, False], [True, True, False], [True, False, True], [True] * 3):
            for doubted in (0.34, 0.6, 1.0):
                here = situation(offered=offered, doubted=doubted)
                assert offered[POLICIES[name].choose(here)]

    def test_looks_at_some_time_when_everything_is_offered(self, name):
        choices = {POLICIES[name].choose(situation(doubted=0.9, frames=9)) for _ in range(20)}
        assert choices - {NOTHING}

    def test_does_nothing_when_nothing_else_is_offered(self, name):
        assert POLICIES[name].choose(situation(offered=[True, False, False])) == NOTHING


def test_a_fixed_period_looks_when_it_is_due():
    assert [FixedPeriod(1, 3).choose(situation(frames=frames)) for frames in range(1, 5)] == [0, 0, 1, 1]


def test_the_learned_policy_looks_more_closely_the_more_is_doubted():
    policy = learned((0.04,), (0.0,))
    choices = [policy.choose(situation(doubted=SETTLED_DOUBT + lacking)) for lacking in (0.1, 0.19, 0.6)]
    assert choices == [NOTHING, 1, 2]


def test_a_lower_income_means_a_higher_price():
    policy = learned()
    assert policy.price(1.5) == 0.002
    assert policy.price(0.25) == 0.2
    assert policy.choose(situation(income=1.5, doubted=SETTLED_DOUBT + 0.5)) == 2
    assert policy.choose(situation(income=0.25, doubted=SETTLED_DOUBT + 0.5)) == NOTHING


def test_the_oracle_goes_by_what_is_true():
    assert OraclePolicy((1, 2), np.array([0.5, 0.4]), 0.02).choose(situation()) == 1
    assert OraclePolicy((1, 2), np.array([-0.1, -0.2]), 0.02).choose(situation()) == NOTHING


def test_a_policy_comes_back_from_a_model_file(model_file, tmp_path):
    from anyscene.modelfile import load_model, save_model

    save_model(tmp_path / "m.anyscene", replace(load_model(model_file), stream=learned().to_section(LOOKS)))
    found = LearnedStreamPolicy.of_section(load_model(tmp_path / "m.anyscene").stream)
    assert found.pool == learned().pool
    assert found.coefficients == learned().coefficients
    assert load_model(model_file).stream is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"pool": (1, 1)},
        {"pool": (0, 2)},
        {"pool": (1, 3)},
        {"looks": ("fine", "fine")},
        {"coefficients": ((0.0,) * len(FEATURES),)},
        {"coefficients": ((0.0,) * 3, (0.0,) * 3)},
        {"prices": (1.0, 0.5)},
        {"spends": (1.0,)},
        {"prices": (float("nan"), 1.0)},
    ],
)
def test_numbers_that_make_no_policy_are_refused(wrong):
    sound = learned().to_section(LOOKS).model_dump()
    with pytest.raises(ValidationError):
        StreamSection.model_validate({**sound, **wrong})


def test_a_policy_is_found_beside_a_model_that_has_none_inside(model_file, tmp_path):
    model = tmp_path / "m.anyscene"
    model.write_bytes(model_file.read_bytes())
    assert learned_for(model).stream is None
    section = learned().to_section(LOOKS)
    write_section(model.with_suffix(SUFFIX), section)
    assert learned_for(model).stream == section
    assert is_ours(model.with_suffix(SUFFIX))


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"pool": [1]}', b"\xff", b"[" * 50_000, b" " * 70_000])
def test_a_file_beside_a_model_that_is_no_policy_is_one_sentence(model_file, tmp_path, text):
    model = tmp_path / "m.anyscene"
    model.write_bytes(model_file.read_bytes())
    model.with_suffix(SUFFIX).write_bytes(text)
    with pytest.raises(ModelError, match=r"stream policy .* cannot be read") as told:
        learned_for(model)
    assert "\n" not in str(told.value)


def test_a_policy_for_other_looks_is_not_followed(engine):
    looks = looks_of(engine)
    own = learned().to_section((*looks.names, "finer"))
    odd = copy(engine)
    odd.learned = replace(engine.learned, stream=own)
    assert isinstance(policy_of(odd, looks), DoubtThreshold)
    assert isinstance(policy_of(odd, replace(looks, names=own.looks)), LearnedStreamPolicy)


def test_where_nothing_moves_and_all_is_known_no_look_gains_anything():
    settled = situation(moved=0.0, doubted=SETTLED_DOUBT, age_ms=5_000.0)
    assert not any(settled.features)
    assert learned((1e-9,), (0.0,)).choose(settled) == NOTHING


@pytest.mark.parametrize("name", shipped_models())
def test_every_shipped_model_holds_a_policy_for_its_looks(name):
    learned = learned_for(name)
    section = learned.stream
    assert section is not None
    assert section.looks == tuple(rung.name for rung in rungs_to_look_by(learned.make_bank(1).values()))
    assert section.spends[0] > 2 * section.spends[-1]
