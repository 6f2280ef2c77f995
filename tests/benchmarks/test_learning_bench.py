"""The comparison of policies that `bench learning` makes, on one short seed."""

from dataclasses import replace

import numpy as np
import pytest
from tests.learning.test_train import costs, data, trained  # noqa: F401  fixtures

from anyscene.benchmarks.learning import BY_DEADLINE, _bootstrap, _curve_figures, areas, compare
from anyscene.model.modelfile import load_model


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


def test_whoever_knows_the_deadline_is_judged_by_the_ends_of_plans(runs, trained):  # noqa: F811
    plans = load_model(trained[0]).plans
    for run in runs[BY_DEADLINE]:
        assert len(run.cost) == 1 + len(plans)
        assert np.all(np.diff(run.cost) >= 0)
    names = [figure.name for figure in _curve_figures(runs, "here") if BY_DEADLINE in figure.name]
    assert len(names) == 3


def test_intervals_come_from_blocks_of_neighbours():
    drifting = np.repeat([0.0, 1.0], 40)  # two long shots: frames within one say the same
    low, high = _bootstrap(drifting)
    assert low < 0.3
    assert high > 0.7
