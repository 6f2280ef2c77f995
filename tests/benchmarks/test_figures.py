import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import benchmarks
from anyscene.errors import ConfigError
from benchmarks.figures import Bar, Figure, Report, Request, describe_machine, missing


def figure(value, name="speed", skipped=None):
    return Figure(name, Bar("at least", 2.0), value, unit="x", skipped=skipped)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_a_bar_holds_on_one_side_and_at_itself(bar, value):
    assert Bar("at most", bar).holds(bar)
    assert Bar("at least", bar).holds(bar)
    assert Bar("at most", bar).holds(value) == (value <= bar)
    assert Bar("at least", bar).holds(value) == (value >= bar)


def test_what_could_not_be_computed_does_not_hold_and_is_still_json():
    for comparison in ("at most", "at least"):
        broken = Figure("broken", Bar(comparison, 1.0), math.nan)
        assert broken.holds is False
        assert json.loads(json.dumps(broken.to_json(), allow_nan=False))["value"] is None


def test_numbers_of_numpy_are_judged_and_written_like_others():
    figure = Figure("points", Bar("at least", 1.0), np.float32(0.5))
    assert json.loads(json.dumps(figure.to_json()))["holds"] is False
    assert Report("bench", {}, (figure,)).exit_code == 1


def test_a_figure_has_a_value_or_a_reason_why_not():
    with pytest.raises(ValueError, match="either a value or the reason"):
        figure(None)
    with pytest.raises(ValueError, match="either a value or the reason"):
        figure(1.0, skipped="no data")


def test_a_skipped_figure_neither_holds_nor_fails():
    skipped = figure(None, skipped="needs --data")
    assert skipped.holds is None
    assert skipped.to_json()["holds"] is None
    assert skipped.to_json()["skipped"] == "needs --data"


def test_a_figure_without_a_bar_is_reported_and_held_to_nothing():
    reported = Figure("size", None, 12.5, unit="MB")
    assert reported.holds is None
    entry = reported.to_json()
    assert (entry["value"], entry["bar"], entry["comparison"], entry["holds"]) == (12.5, None, None, None)
    assert "skipped" not in entry


@pytest.mark.parametrize(
    ("values", "code"), [([3, 2], 0), ([3, 1], 1), ([3, None], 0), ([1, None], 1), ([None], 2), ([], 2)]
)
def test_the_exit_code_says_whether_bars_hold(values, code):
    figures = tuple(figure(value, skipped=None if value else "no data") for value in values)
    assert Report("any", {}, figures).exit_code == code


def test_a_report_has_the_one_form():
    report = Report(
        "any", describe_machine(), (Figure("speed", Bar("at least", 2.0), 3.0, parts={"rounds": 5}),)
    )
    document = json.loads(json.dumps(report.to_json()))
    assert document.keys() == {"bench", "machine", "figures"}
    assert document["machine"]["cores"] >= 1
    entry = document["figures"]["speed"]
    assert (entry["value"], entry["comparison"], entry["bar"], entry["holds"]) == (3.0, "at least", 2.0, True)
    assert entry["parts"] == {"rounds": 5}


def test_missing_names_only_what_is_absent():
    assert missing("json", "math") is None
    assert missing("json", "no_such_module") == "needs no_such_module (make bench-env)"


def test_an_unknown_bench_is_one_clear_sentence():
    with pytest.raises(ConfigError, match=r"no bench 'speed'; there are: .*metrics"):
        benchmarks.run("speed", Request())


@pytest.mark.parametrize("name", benchmarks.BENCHES)
def test_every_listed_bench_can_be_imported(name):
    module = pytest.importorskip(f"benchmarks.{name}", exc_type=ModuleNotFoundError)
    assert callable(module.run)
