"""Each claim of the paper holds on curves like the paper's, and fails on curves made to contradict it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyscene.evaluation.claims import FAILS, HOLDS, INCOMPARABLE, STATEMENTS, check_claims, verdict_of
from anyscene.evaluation.pooled_runs import BLOCK, drawn_images, runs_of
from anyscene.evaluation.traces import Trace, charged_upfront, load_traces, save_traces

PIXELS = 10_000
KEYS = [statement.key for statement in STATEMENTS]
ONCE = ("F-SM", "DCRF", "HIM")
"""Systems that have no label before their first step is done."""

AS_IN_THE_PAPER = {
    "D-NM": ([1, 2, 5, 10, 20, 40], [0.3, 0.65, 0.77, 0.80, 0.83, 0.85]),
    "S-M": ([1, 2.2, 15, 35, 60, 80, 100], [0.3, 0.5, 0.70, 0.76, 0.79, 0.81, 0.82]),
    "RS": ([1, 10, 50], [0.3, 0.4, 0.5]),
    "Oracle": ([1, 2, 5, 10, 20], [0.3, 0.66, 0.78, 0.81, 0.86]),
    "F-SM": ([4, 8, 30], [0.62, 0.68, 0.685]),
    "DCRF": ([25], [0.82]),
    "HIM": ([80], [0.85]),
}


def trace(costs, accuracies, anytime=True):
    right = np.rint(PIXELS * np.array(accuracies)).astype(np.int64)
    counts = np.zeros((len(costs), 2, 3), np.int64)
    counts[:, 0, 0], counts[:, 0, 1] = right, PIXELS - right
    steps = np.zeros(len(costs), np.int64)
    return Trace(
        np.array(costs, float), np.zeros(len(costs)), counts, steps[1:], steps if anytime else steps[:0]
    )


def checked(systems, images=10, data="camvid", rounds=2):
    traces = {
        name: [trace(*curve, anytime=name not in ONCE) for _ in range(images)]
        for name, curve in systems.items()
    }
    return {claim.statement.key: claim for claim in check_claims(runs_of(traces), data, rounds)}


def changed(name, costs=None, accuracies=None):
    before = AS_IN_THE_PAPER[name]
    return AS_IN_THE_PAPER | {name: (costs or before[0], accuracies or before[1])}


CONTRADICTIONS = {
    "him-90": changed("D-NM", costs=[1, 2, 20, 40, 80, 100]),
    "him-100": changed("HIM", accuracies=[0.86]),
    "static-25": changed("S-M", costs=[1, 2.2, 6, 35, 60, 80, 100]),
    "static-50": changed("S-M", costs=[1, 2.2, 7, 8, 60, 80, 100]),
    "never-below": changed("F-SM", accuracies=[0.66, 0.68, 0.685]),
    "above": AS_IN_THE_PAPER | {"D-NM": AS_IN_THE_PAPER["S-M"]},
    "random-worst": changed("RS", accuracies=[0.3, 0.9, 0.9]),
    "selection-early": changed("F-SM", accuracies=[0.4, 0.68, 0.685]),
    "selection-saturates": changed("F-SM", accuracies=[0.62, 0.63, 0.70]),
    "selection-lower": changed("F-SM", accuracies=[0.62, 0.68, 0.86]),
    "oracle-slightly-above": changed("Oracle", accuracies=[0.3, 0.76, 0.88, 0.91, 0.96]),
    "oracle-above-static": changed("Oracle", accuracies=[0.3, 0.66, 0.78, 0.79, 0.80]),
    "oracle-ends-early": changed("Oracle", costs=[1, 2, 5, 10, 40]),
    "dcrf": changed("DCRF", accuracies=[0.84]),
}


def test_every_claim_holds_on_curves_like_the_papers():
    assert {key: claim.verdict for key, claim in checked(AS_IN_THE_PAPER).items()} == dict.fromkeys(
        KEYS, HOLDS
    )


@pytest.mark.parametrize("key", KEYS)
def test_every_claim_can_fail(key):
    assert checked(CONTRADICTIONS[key])[key].verdict == FAILS


def test_an_oracle_that_is_worse_than_the_policy_is_not_slightly_above_it():
    worse = changed("Oracle", accuracies=[0.3, 0.6, 0.7, 0.75, 0.8])
    assert checked(worse)["oracle-slightly-above"].verdict == FAILS


@pytest.mark.parametrize("system", [name for name in AS_IN_THE_PAPER if name not in ("D-NM", "S-M")])
def test_without_a_system_what_is_said_of_it_cannot_be_compared(system):
    found = checked({name: curve for name, curve in AS_IN_THE_PAPER.items() if name != system})
    for statement in STATEMENTS:
        verdict = found[statement.key].verdict
        assert verdict == (INCOMPARABLE if system in statement.needs else HOLDS)
        if system in statement.needs:
            assert found[statement.key].note == f"there is no {system} here"


def test_labels_that_come_after_the_other_has_ended_cannot_be_compared():
    late = checked(changed("F-SM", costs=[150, 160, 170]))["selection-early"]
    assert (late.verdict, late.note) == (INCOMPARABLE, "F-SM's first labels come after S-M's end")


def test_what_is_never_reached_is_said_so():
    never = checked(changed("HIM", accuracies=[0.9]))["him-100"]
    assert (never.verdict, never.value) == (FAILS, np.inf)
    told = never.to_json()
    assert (told["value"], told["ours"], told["interval"]) == (None, "never", "never to never")


def test_the_papers_figures_stand_beside_ours():
    assert checked(AS_IN_THE_PAPER)["dcrf"].published == "+1.5 points"
    assert checked(AS_IN_THE_PAPER, data="streets")["dcrf"].published == "not said of this data"


def test_costs_are_measured_as_they_are_said():
    found = checked(AS_IN_THE_PAPER)
    near = {"rel": 0.02}  # budgets lie on a grid
    assert found["him-90"].value == pytest.approx(5 / 80, **near)
    assert found["him-100"].value == pytest.approx(40 / 80, **near)
    assert found["static-25"].value == pytest.approx(5 / 15, **near)
    assert found["static-50"].value == pytest.approx(5 / 35, **near)
    assert found["dcrf"].value == pytest.approx(0.01)
    assert found["oracle-ends-early"].value == pytest.approx(0.5)


@settings(max_examples=10)
@given(scale=st.floats(0.01, 100))
def test_a_slower_machine_changes_no_figure(scale):
    slower = {name: ([scale * cost for cost in costs], own) for name, (costs, own) in AS_IN_THE_PAPER.items()}
    for usual, other in zip(checked(AS_IN_THE_PAPER).values(), checked(slower).values(), strict=True):
        assert other.value == pytest.approx(usual.value, rel=0.03)
        assert other.verdict == usual.verdict


@settings(max_examples=10)
@given(gain=st.floats(0, 0.1))
def test_a_better_policy_leads_by_more(gain):
    better = changed("D-NM", accuracies=[value + gain for value in AS_IN_THE_PAPER["D-NM"][1]])
    for key in ("never-below", "above", "dcrf", "selection-lower"):
        assert checked(better)[key].value == pytest.approx(
            checked(AS_IN_THE_PAPER)[key].value + gain, abs=2e-4
        )


def test_intervals_are_points_where_images_are_alike_and_hold_the_figure_where_not():
    for claim in checked(AS_IN_THE_PAPER, rounds=20).values():
        assert claim.low == pytest.approx(claim.value) == claim.high
        assert claim.sure
    random = np.random.default_rng(0)
    traces = {
        name: [
            trace(costs, np.clip(np.array(own) + random.normal(0, 0.08), 0, 1), name not in ONCE)
            for _ in range(60)
        ]
        for name, (costs, own) in AS_IN_THE_PAPER.items()
    }
    claims = check_claims(runs_of(traces), "camvid", rounds=200)
    for claim in claims:
        assert claim.low <= claim.value <= claim.high
    lead = next(claim for claim in claims if claim.statement.key == "dcrf")
    assert lead.high - lead.low > 0.01
    assert not lead.sure


@given(images=st.integers(1, 130))
def test_neighbours_are_drawn_together(images):
    times = drawn_images(images, 20, np.random.default_rng(0))
    size = max(1, min(BLOCK, images // 5))
    for start in range(0, images, size):
        assert (times[:, start : start + size] == times[:, start : start + 1]).all()
    assert (times.sum(axis=1) > 0).all()


def test_the_bar_itself_counts_as_reached():
    statement = replace(STATEMENTS[0], most=0.15)
    assert verdict_of(0.15, statement) == HOLDS
    assert verdict_of(0.151, statement) == FAILS
    assert verdict_of(float("nan"), statement) == INCOMPARABLE


@given(
    grow=st.lists(st.floats(0, 5), min_size=4, max_size=8),
    steps=st.lists(st.integers(0, 3), min_size=1, max_size=6),
)
def test_a_tree_that_is_charged_first_costs_the_same_in_the_end(grow, steps):
    grow, grown = np.array(grow), np.maximum.accumulate(np.array([0, *steps]))
    paid = np.cumsum(grow) - grow[0]
    own = np.arange(len(grown), dtype=float)
    lazy = replace(trace(own + paid[grown], np.zeros(len(grown))), grown=grown)
    upfront = charged_upfront(lazy, grow)
    np.testing.assert_allclose(upfront.cost, own + grow[1:].sum())
    np.testing.assert_array_equal(upfront.counts, lazy.counts)


def test_traces_of_an_older_form_are_not_taken(tmp_path):
    from safetensors.numpy import load_file, save_file

    path = tmp_path / "traces.safetensors"
    save_traces(path, [trace([1, 2], [0.1, 0.2]), trace([1], [0.3])])
    assert [len(found.cost) for found in load_traces(path)] == [2, 1]
    save_file({name: own for name, own in load_file(path).items() if not name.endswith("grown")}, path)
    assert load_traces(path) is None
