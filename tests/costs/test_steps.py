"""Cost models: fitted to measurements, kept in the cache, honest about what they do not know."""

import json

import numpy as np
import pytest

from anyscene.costs import measuring
from anyscene.costs.calibration_file import (
    calibration_key,
    calibration_path,
    load_calibration,
    save_calibration,
)
from anyscene.costs.measuring import calibrate, fit_costs, measure, measure_alone
from anyscene.costs.steps import CostModel, StepCost
from anyscene.errors import ConfigError
from anyscene.features.layers import growth_work
from anyscene.features.ledger import Charge, Work
from anyscene.hierarchy import LAYERS, Tree

MODEL = CostModel(
    "some-machine", {"extract:lbp": StepCost(0.1, 1e-6, 0, 1.5), "pool:lbp": StepCost(0, 0, 1e-4, 2)}
)


def charges(rng, noise):
    for _ in range(20):
        for pixels in (10_000, 40_000, 170_000):
            for regions in (100, 2000):
                ms = 0.05 + 3e-6 * pixels + 2e-4 * regions
                yield Charge(Work("step", pixels, regions), ms * rng.lognormal(0, noise))


def test_a_fit_finds_fixed_cost_and_slopes():
    cost = fit_costs(list(charges(np.random.default_rng(0), 0.02)))["step"]
    assert cost.fixed == pytest.approx(0.05, rel=0.3)
    assert cost.per_pixel == pytest.approx(3e-6, rel=0.1)
    assert cost.per_region == pytest.approx(2e-4, rel=0.1)


def test_nearly_all_costs_lie_below_the_high_prediction():
    model = CostModel("m", fit_costs(list(charges(np.random.default_rng(0), 0.2))))
    fresh = list(charges(np.random.default_rng(1), 0.2))
    below = [
        charge.ms <= model.predict("step", charge.work.pixels, charge.work.regions)[1] for charge in fresh
    ]
    assert np.mean(below) >= 0.95


def test_what_is_typical_is_measured_alone_and_the_high_factor_covers_all():
    alone = [Charge(Work("step", pixels), pixels / 1000) for pixels in (1000, 2000, 4000)] * 9
    among_others = [Charge(Work("step", pixels), 1.5 * pixels / 1000) for pixels in (1000, 2000, 4000)] * 9
    cost = fit_costs(among_others, alone)["step"]
    assert cost.typical(Work("step", 2000)) == pytest.approx(2)
    assert cost.high >= 1.5


def test_smooth_maps_are_measured_alone_at_every_size(bank):
    images = [np.zeros((40, 60, 3), np.uint8), np.zeros((60, 40, 3), np.uint8)]
    found = measure_alone(bank, images, rounds=2)
    assert {charge.work.step for charge in found} == {"extract:semantics", "extract:place"}
    assert len(found) == 2 * 2 * 2


def test_no_part_of_a_cost_is_negative():
    falling = [Charge(Work("step", pixels), 5 - pixels / 1000) for pixels in (1000, 2000, 3000)]
    cost = fit_costs(falling)["step"]
    assert min(cost.fixed, cost.per_pixel, cost.per_region) >= 0


def test_costs_of_several_steps_add_up():
    typical, high = MODEL.predict_all([Work("extract:lbp", 10**6), Work("pool:lbp", 0, 1000)])
    assert typical == pytest.approx(1.1 + 0.1)
    assert high == pytest.approx(1.1 * 1.5 + 0.1 * 2)


def test_a_step_that_was_never_measured_is_an_error():
    with pytest.raises(ConfigError, match="'extract:smell' was never calibrated"):
        MODEL.predict("extract:smell")


def test_a_calibration_is_kept_and_found_again():
    assert load_calibration("unheard-of") is None
    save_calibration(MODEL)
    assert load_calibration("some-machine") == MODEL


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"key": "damaged"}', '{"key": "damaged", "steps": {"a": {"b": 1}}}']
)
def test_a_damaged_calibration_is_made_anew(text):
    path = calibration_path("damaged")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    assert load_calibration("damaged") is None


def test_a_calibration_of_another_schema_is_made_anew():
    path = calibration_path("old")
    path.write_text(json.dumps(CostModel("old", {}).to_json() | {"schema": 0}))
    assert load_calibration("old") is None


def test_the_key_follows_the_sets(bank):
    some = {name: bank[name] for name in ("color", "sift")}
    assert calibration_key(bank) != calibration_key(some)
    assert calibration_key(some) == calibration_key(dict(some))


def test_all_work_that_labeling_foresees_was_measured(bank, street):
    steps = {charge.work.step for charge in measure(bank, [street])}
    for name, chosen in bank.items():
        assert f"finish:{name}" in steps
        assert f"extract:{name}" in steps or chosen.pooling is None
    assert {f"grow:{layer}" for layer in range(1, LAYERS)} <= steps
    assert {"paint", "taps", "grid", "shapes"} <= steps


def test_only_the_first_layer_of_a_grid_visits_its_blocks():
    tree = Tree(np.zeros((360, 480, 3), np.uint8))
    visited = [growth_work(tree, layer).pixels for layer in range(1, LAYERS)]
    firsts = [
        layer for layer in range(1, LAYERS) if layer == 1 or tree.strides[layer] != tree.strides[layer - 1]
    ]
    assert [layer for layer, pixels in enumerate(visited, 1) if pixels] == firsts


def test_a_quick_calibration_prices_frames_of_all_sizes(bank, monkeypatch):
    monkeypatch.setattr(measuring, "QUICK_ROUNDS", 1)
    priced = set(calibrate(bank, quick=True).steps)
    rng = np.random.default_rng(0)
    for height, width in ((1, 1), (48, 64), (70, 100), (90, 120), (20, 480), (200, 150), (480, 480)):
        noise = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
        needed = {charge.work.step for charge in measure(bank, [noise])}
        assert needed <= priced, f"frames of {width}x{height} need {sorted(needed - priced)}"
