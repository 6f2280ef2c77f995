"""Headline figures, on curves that can be worked out by hand."""

import numpy as np
import pytest

from anyscene.evaluation.headline import describe, headline
from anyscene.evaluation.report.figures import equal_accuracies
from anyscene.evaluation.scores import (
    Curve,
    Scores,
    anytime_scores,
    budget_grid,
    first_cost,
    fixed_scores,
    point_at,
    step_values,
)
from anyscene.evaluation.traces import Trace, count_by_region, join_ends, load_traces, save_traces


def confusion(accuracy):
    """A thousand pixels of one class, so many of them right."""
    right = round(1000 * accuracy)
    return np.array([[right, 1000 - right, 0], [0, 0, 0]], np.int64)


def curve(points):
    costs, accuracies = zip(*points, strict=True)
    counts = np.stack([confusion(accuracy) for accuracy in accuracies])
    return Curve(np.array(costs, float), counts, np.zeros(len(costs)))


def scores(name, points, anytime=True):
    whole = curve(points)
    return Scores(name, anytime, whole, points[-1][0], curve(points[-1:]))


HIM = scores("HIM", [(200, 0.8)], anytime=False)
STATIC = scores("S-M", [(1, 0.2), (8, 0.6), (16, 0.73), (64, 0.77)])
OURS = scores("D-NM", [(1, 0.2), (4, 0.6), (8, 0.72), (32, 0.78), (100, 0.8)])
ORACLE = scores("Oracle", [(1, 0.2), (2, 0.8)])
NETWORK = scores("CNN", [(10, 0.7), (40, 0.65), (64, 0.79)], anytime=False)


def figures():
    return headline({own.name: own for own in (OURS, STATIC, ORACLE, HIM, NETWORK)})


def test_shares_of_the_full_costs():
    shares = figures()["him_cost_share"]
    # 90 % of 0.8 is 0.72, reached at 8 of 200 ms; 95 % is 0.76, 99 % 0.792, 100 % 0.8
    assert shares == {
        "90": pytest.approx(0.04),
        "95": pytest.approx(0.16),
        "99": pytest.approx(0.5),
        "100": pytest.approx(0.5),
    }


def test_ratios_to_the_static_sequence():
    ratios = figures()["sm_cost_ratio"]
    # S-M's best is 0.77: 0.769 at 64 ms, ours at 32; 0.72 at 16 against 8; 0.76 at 64 against 32
    assert ratios == {
        "best": pytest.approx(0.5),
        "90": pytest.approx(0.5),
        "95": pytest.approx(0.5),
        "99": None,  # S-M never gets there
    }


def test_pairs_of_equal_accuracy():
    early = scores("S-M", [(1, 0.2), (10, 0.5), (20, 0.75), (64, 0.79)])
    # at 16 of 64 ms S-M has 0.5, which it had at 10, we at 4; at 32 ms 0.75, which it had at 20, we at 32
    assert equal_accuracies(OURS, early) == [(4, 10, 0.5), (32, 20, 0.75)]
    never = scores("S-M", [(1, 0.2), (2, 0.9), (64, 0.9)])
    assert equal_accuracies(OURS, never) == []


def test_differences_to_the_network_alone():
    frontier = figures()["frontier"]
    assert frontier["from_ms"] == pytest.approx(16)
    assert frontier["to_ms"] == pytest.approx(64)
    # from 16 to 32 ms 0.72 against 0.70; from 32 on 0.78 against 0.70; at 64, the last point, against 0.79
    assert frontier["mean_difference"] == pytest.approx((0.02 + 0.08) / 2, abs=1e-3)
    assert frontier["lowest_difference"] == pytest.approx(-0.01)


def test_classes_count_beside_pixels():
    """A labeler that names the frequent class everywhere has most pixels right and misses classes."""
    frequent = np.array([[900, 0, 0], [100, 0, 0]], np.int64)
    both = np.array([[800, 100, 0], [10, 90, 0]], np.int64)

    def fixed(name, counts):
        whole = Curve(np.array([10.0, 40.0]), np.stack([counts, counts]), np.zeros(2))
        return Scores(name, False, whole, 40.0, whole)

    frontier = headline({"D-NM": fixed("D-NM", frequent), "CNN": fixed("CNN", both)})["frontier"]
    assert frontier["mean_difference"] == pytest.approx(0.90 - 0.89)
    # 900 / 1000 and nothing, against 800 / 910 and 90 / 200
    expected = 0.9 / 2 - (800 / 910 + 90 / 200) / 2
    assert frontier["iou_mean_difference"] == pytest.approx(expected)
    assert frontier["iou_lowest_difference"] == pytest.approx(expected)


def test_of_several_networks_the_better_one_at_each_cost_is_the_rival():
    larger = scores("CNN others", [(30, 0.75), (90, 0.82)], anytime=False)
    frontier = headline({own.name: own for own in (OURS, NETWORK, larger)})["frontier"]
    assert (frontier["from_ms"], frontier["to_ms"]) == (pytest.approx(16), pytest.approx(90))
    assert frontier["lowest_difference"] == pytest.approx(0.78 - 0.82)


def test_the_network_squeezed_is_a_harder_rival_over_the_same_range():
    squeezed = scores("CNN squeezed", [(5, 0.69), (20, 0.75)], anytime=False)
    found = headline({own.name: own for own in (OURS, NETWORK, squeezed)})
    assert found["frontier"] == figures()["frontier"]
    harder = found["squeezed_frontier"]
    assert (harder["from_ms"], harder["to_ms"]) == (pytest.approx(16), pytest.approx(64))
    # from 16 to 20 ms against 0.70, to 32 ms against 0.75: 0.72 there; from then on 0.78
    share = np.log2(20 / 16) / 2, np.log2(32 / 20) / 2, 0.5
    expected = float(np.dot(share, (0.02, -0.03, 0.03)))
    assert harder["mean_difference"] == pytest.approx(expected, abs=1e-3)
    assert harder["lowest_difference"] == pytest.approx(-0.03)
    assert any("squeezed" in what for what, _ in describe(found))


def test_the_oracles_gain_and_the_share_of_it_that_is_got():
    # in units of log2 cost from 1 to 100: areas between the curves
    log = np.log2
    full = log(100)
    s = (0.2 * 3 + 0.6 * 1 + 0.73 * 2 + 0.77 * (full - 6)) / full
    d = (0.2 * 2 + 0.6 * 1 + 0.72 * 2 + 0.78 * (full - 5)) / full
    o = (0.2 * 1 + 0.8 * (full - 1)) / full
    found = figures()
    assert found["oracle_gain"] == pytest.approx(o - s, abs=0.01)
    assert found["oracle_gain_share"] == pytest.approx((d - s) / (o - s), abs=0.01)
    assert found["oracle_sm_cost_ratio"] == pytest.approx(2 / 64)  # 0.8 from 2 ms on; S-M's 0.77 from 64 on


def test_figures_need_only_the_systems_they_speak_of():
    assert headline({"S-M": STATIC}) == {}
    assert headline({"D-NM": OURS}) == {}
    assert headline({"D-NM": OURS, "HIM": HIM}).keys() == {"him_cost_share"}
    words = dict(describe(figures()))
    assert words["D-NM: share of HIM's cost for 90 % of its pixel accuracy"] == "4.0 %"
    assert words["D-NM: cost over S-M's for 99 % of HIM's accuracy"] == "–"


def test_the_policy_that_knows_the_deadline_has_figures_of_its_own():
    found = headline({"D-NM by deadline": OURS, "HIM": HIM, "CNN": NETWORK})
    assert found.keys() == {"by_deadline"}
    assert found["by_deadline"]["him_cost_share"] == figures()["him_cost_share"]
    assert found["by_deadline"]["frontier"] == figures()["frontier"]
    assert any(what.startswith("D-NM by deadline above the network") for what, _ in describe(found))


def test_ends_of_traces_are_joined_behind_their_common_start():
    joined = join_ends([trace([1, 2, 4], [0.2, 0.5, 0.6]), trace([1, 8], [0.2, 0.9])])
    np.testing.assert_allclose(joined.cost, [1, 4, 8])
    np.testing.assert_array_equal(joined.last_within(np.array([0.5, 3, 4, 9])), [0, 0, 1, 2])
    assert len(joined.counts) == len(joined.loss) == 3


def test_step_functions():
    cost, values = np.array([1.0, 2.0]), np.array([0.5, 0.7])
    found = step_values(cost, values, np.array([0.5, 1.0, 1.9, 2.0, 9.0]))
    np.testing.assert_array_equal(found, [np.nan, 0.5, 0.5, 0.7, 0.7])
    assert first_cost(cost, values, 0.6) == 2
    assert first_cost(cost, values, 0.8) is None
    assert point_at(STATIC.curve, 0.5) is None
    assert point_at(STATIC.curve, 20).pixel[0] == pytest.approx(0.73)


def trace(costs, accuracies):
    counts = np.stack([confusion(accuracy) for accuracy in accuracies])
    return Trace(
        np.array(costs, float), np.arange(len(costs), dtype=float), counts, *2 * [np.zeros(0, np.int64)]
    )


def test_curves_pool_what_each_image_had_within_a_budget():
    traces = [trace([1, 2, 8], [0.2, 0.6, 0.8]), trace([1, 4], [0.4, 1.0])]
    budgets = budget_grid([traces], points=4)
    np.testing.assert_allclose(budgets, [1, 2, 4, 8])
    found = anytime_scores("D-NM", traces, budgets)
    np.testing.assert_allclose(found.curve.pixel, [0.3, 0.5, 0.8, 0.9])
    np.testing.assert_allclose(found.curve.loss, [0, 0.5, 1, 1.5])
    assert found.cost_ms == 6
    assert found.final.pixel[0] == pytest.approx(0.9)
    same = fixed_scores("F-SM", [trace([1, 3], [0.2, 0.6]), trace([2, 5], [0.4, 0.8])])
    np.testing.assert_allclose(same.curve.cost, [1.5, 4])
    np.testing.assert_allclose(same.curve.pixel, [0.3, 0.7])


def test_regions_are_counted_as_their_pixels_would_be():
    truth = np.array([[3, 1], [0, 5], [2, 2]])
    np.testing.assert_array_equal(count_by_region(truth, np.array([0, 1, 1])), [[3, 2, 0], [1, 7, 0]])


def test_traces_come_back_as_written_and_cut_files_are_made_anew(tmp_path):
    path = tmp_path / "traces.safetensors"
    assert load_traces(path) is None
    written = [trace([1, 2], [0.1, 0.2]), trace([3], [0.5])]
    save_traces(path, written)
    for ours, theirs in zip(load_traces(path), written, strict=True):
        np.testing.assert_array_equal(ours.counts, theirs.counts)
        np.testing.assert_array_equal(ours.cost, theirs.cost)
    path.write_bytes(path.read_bytes()[:-10])
    assert load_traces(path) is None
