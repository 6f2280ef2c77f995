"""What of a model file is run."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from anyscene.engine.loading import (
    bank_of,
    columns_read,
    find_model,
    load,
    without_a_limit,
)
from anyscene.features import View
from anyscene.features.hypercolumn.ladder import ladder
from anyscene.features.hypercolumn.network import head_from_arrays
from anyscene.features.hypercolumn.rung import NETWORK, Rung, rungs_among
from anyscene.modelfile import load_model
from anyscene.policy.policies import LearnedPolicy, LinearQ, StaticPolicy

RUNG = Rung(0.267)


@pytest.fixture(scope="module")
def trained():
    return load_model(find_model("camvid"))


def test_rows_of_the_head_that_no_learner_reads_are_not_computed(trained):
    in_file = len(trained.features[f"{NETWORK}/bias"])
    bank = bank_of(trained)
    rungs = {name: bank[name] for name in rungs_among(bank)}
    for name, rung in rungs.items():
        assert rung.channels == max(columns_read(trained.model.pool, name), len(trained.classes))
    assert min(rung.channels for rung in rungs.values()) < in_file


def test_what_is_read_stays_the_same(trained):
    short = bank_of(trained)[str(RUNG)]
    head, _ = head_from_arrays(trained.features, len(trained.classes))
    whole = ladder(short._network, head, [RUNG])[str(RUNG)]
    view = View(np.random.default_rng(0).integers(0, 256, (96, 128, 3), dtype=np.uint8))
    maps = [rung.extract(view) for rung in (short, whole)]
    np.testing.assert_allclose(maps[0], maps[1][..., : short.channels], atol=1e-4)


def test_without_a_limit_a_policy_that_ends_lower_than_a_sequence_gives_way_to_the_last_plan(model_file):
    small = load_model(model_file)
    last = small.plans[-1]
    learned = LearnedPolicy(LinearQ(np.zeros(1), np.zeros(1), np.zeros((1, 1))))

    def chooses(policy, own, static):
        ends = {"D-NM": own, "S-M": static}
        held_out = {name: {"final accuracy": end, "final cost in ms": 9.0} for name, end in ends.items()}
        return without_a_limit(replace(small, policies={"D-NM": policy}, record={"held out": held_out}))

    assert chooses(learned, 0.9, 0.902) == (StaticPolicy(last.actions), last.cost[-1])
    assert chooses(learned, 0.9, 0.9005) == (learned, 9.0)
    assert chooses(StaticPolicy((0,)), 0.9, 0.902) == (StaticPolicy((0,)), 9.0)
    assert without_a_limit(replace(small, policies={"D-NM": learned}, record={})) == (learned, None)


def test_each_rung_runs_the_network_that_it_names(two_networks_file):
    bank = bank_of(load_model(two_networks_file))
    networks = {name: bank[name]._network for name in rungs_among(bank)}
    assert networks["hypercolumn@250"] is networks["hypercolumn@375"]
    assert networks["large@500"] is networks["large@625m"]
    assert networks["hypercolumn@250"] is not networks["large@500"]


def test_a_model_with_two_networks_labels(two_networks_file, streets):
    labeling = load(two_networks_file).label(streets.split("val")[0].image)
    assert any("@" in step.action for step in labeling.trace)
    assert labeling.familiarity is not None  # it was learned from the first network's glances


FIRST_PICTURE = """
import sys
import anyscene
model = anyscene.load(sys.argv[1])
before = set(sys.modules)
model.label(sys.argv[2], budget="1s")
print(sorted(set(sys.modules) - before))
"""


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp"])
def test_the_first_picture_does_not_wait_for_a_decoder(engine, model_file, streets, tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    Image.fromarray(streets.split("val")[0].image).save(path)
    command = [sys.executable, "-c", FIRST_PICTURE, str(model_file), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_first_load_says_what_takes_so_long_and_a_full_disk_is_no_error(model_file, monkeypatch, caplog):
    def no_room(model):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("anyscene.engine.ready.load_calibration", lambda key: None)
    monkeypatch.setattr("anyscene.engine.ready.save_calibration", no_room)
    engine = load(model_file)
    assert "`anyscene calibrate --model NAME` does it beforehand" in caplog.text
    assert f"this one has {len(engine.classes)} classes" in caplog.text
    assert "cannot be kept" in caplog.text
    assert engine.label(np.zeros((20, 30, 3), np.uint8)).labels.shape == (20, 30)
