"""The comparison of policies that `bench learning` makes, on one short seed."""

import json
from dataclasses import replace

import numpy as np
import pytest

from anyscene.engine.loading import find_model
from anyscene.features.hypercolumn.backbone import read_backbone, shipped_backbone, write_backbone
from anyscene.features.hypercolumn.image_keys import image_key
from anyscene.features.hypercolumn.ladder import HonestLadder
from anyscene.features.hypercolumn.rung import Rung
from anyscene.learning.config import TrainConfig
from anyscene.modelfile import load_model
from benchmarks.learning import (
    BY_DEADLINE,
    _as_shipped,
    _bootstrap,
    _curve_figures,
    areas,
    compare,
    honest_banks,
)
from tests.learning.test_train import costs, data, trained  # noqa: F401  fixtures


@pytest.fixture(scope="module")
def runs(trained, data, tmp_path_factory):  # noqa: F811
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANYSCENE_CACHE", str(tmp_path_factory.mktemp("cache")))
        return compare(load_model(trained[0]), data, "val")


def test_policies_come_in_the_order_that_the_bench_asks_for(runs):
    found = areas(runs)
    assert found["D-NM"] >= found["S-M"] - 0.01  # a few small scenes decide no more than that
    assert found["S-M"] > found["RS"]
    assert found["oracle"] >= found["D-NM of the same images"] - 1e-9


def test_a_policy_against_itself_has_no_gain_and_no_shortfall(runs):
    same = {**runs, "D-NM": runs["S-M"]}
    figures = list(_curve_figures(same, "here"))
    values = [figure.value for figure in figures[:3]]
    np.testing.assert_allclose(values, [0.0, 0.0, 1.0], atol=1e-9)


def test_a_worse_policy_shows_as_shortfall(runs):
    worse = [replace(run, accuracy=run.accuracy - 0.05) for run in runs["S-M"]]
    area, shortfall, ratio, *_ = _curve_figures({**runs, "D-NM": worse}, "here")
    assert area.value == pytest.approx(-5)
    assert shortfall.value == pytest.approx(5)
    assert shortfall.holds is False
    assert ratio.value == np.inf
    assert ratio.parts["95 % interval"] == [None, None]
    json.dumps([figure.to_json() for figure in (area, shortfall, ratio)], allow_nan=False)


def test_whoever_knows_the_deadline_is_judged_by_the_ends_of_plans(runs, trained):  # noqa: F811
    plans = load_model(trained[0]).plans
    for run in runs[BY_DEADLINE]:
        assert len(run.cost) == 1 + len(plans)
        assert np.all(np.diff(run.cost) >= 0)
    names = [figure.name for figure in _curve_figures(runs, "here") if BY_DEADLINE in figure.name]
    assert len(names) == 3


def test_intervals_come_from_blocks_of_neighbours():
    budgets = np.geomspace(1, 100, 3)
    static = np.tile([0.2, 0.4, 0.6], (80, 1))
    gains = np.repeat([0.0, 0.1], 40)  # two long shots: frames within one say the same
    (area_low, shortfall_low, ratio_low), (area_high, shortfall_high, ratio_high) = _bootstrap(
        static + gains[:, None], static, budgets
    )
    assert area_low < 3
    assert area_high > 7
    assert shortfall_low == shortfall_high == 0
    assert ratio_low == ratio_high == 1  # a point more at every budget is not enough to be there sooner


def test_whoever_gains_where_it_counts_has_the_best_sooner():
    budgets = np.geomspace(1, 100, 3)
    static = np.tile([0.2, 0.4, 0.6], (40, 1))
    sooner = np.tile([0.1, 0.6, 0.6], (40, 1))
    for area, shortfall, ratio in _bootstrap(sooner, static, budgets):
        assert area == pytest.approx(10 / 3)
        assert shortfall == pytest.approx(10)
        assert ratio == pytest.approx(0.1)


def test_a_scene_that_the_network_has_seen_is_looked_at_by_a_part_that_has_not(tmp_path, data):  # noqa: F811
    first, second, *_ = data.split("val")
    shipped = read_backbone(shipped_backbone("camvid"))
    seen = {"train": frozenset({image_key(first.image)}), "a": frozenset({image_key(first.image)})}
    write_backbone(tmp_path / "n.backbone", replace(shipped, seen={**seen, "b": frozenset()}))
    model = load_model(find_model("camvid"))
    banks = honest_banks(model, tmp_path / "n.backbone")
    ladder = HonestLadder(shipped, "camvid", [Rung(0.2)], bare=True)
    for scene, part in ((first, "b"), (second, "train")):
        bank = banks(scene)
        assert set(bank) == set(model.model.pool.sets)
        (expected,) = ladder.of_part(part).values()
        assert bank[expected.name].fingerprint() == expected.fingerprint()


def test_a_data_set_is_learned_as_the_model_that_ships_for_it_was():
    config, network = _as_shipped("camvid")
    assert config.sets == ("place",)
    assert network == shipped_backbone("camvid")
    assert _as_shipped("streets") == (TrainConfig(), None)
