"""`anyscene bench` on a bench of our own, whose figures come out as we please."""

import json
import sys
import types

import pytest
from typer.testing import CliRunner

from anyscene import benchmarks
from anyscene.apps.main import app
from anyscene.benchmarks.figures import Bar, Figure

FAST = Bar("at least", 2.0)


@pytest.fixture
def bench(monkeypatch):
    """Run a bench that yields the given figures; returns what came out and what the bench was asked."""
    asked = []

    def run_with(figures, *arguments):
        def run(request):
            asked.append(request)
            yield from figures

        module = types.SimpleNamespace(run=run)
        monkeypatch.setitem(benchmarks.BENCHES, "sample", "A bench for this test")
        monkeypatch.setitem(sys.modules, "anyscene.benchmarks.sample", module)
        return CliRunner().invoke(app, ["bench", "sample", *arguments]), asked[-1]

    return run_with


def test_a_bench_is_asked_for_what_the_options_say(bench):
    _, request = bench([], "--data", "streets:3", "--split", "val", "--model", "own.safetensors")
    assert (request.data, request.split, request.model) == ("streets:3", "val", "own.safetensors")
    _, request = bench([], "--backbone", "own.backbone")
    assert request.model == "own.backbone"
    _, request = bench([])
    assert (request.data, request.split, request.model) == (None, None, None)


def test_the_table_tells_what_holds_what_does_not_and_what_is_only_reported(bench):
    figures = [
        Figure("quick", FAST, 3.0, unit="x"),
        Figure("slow", FAST, 1.0),
        Figure("size", None, 12.5, unit="MB"),
        Figure("absent", FAST, None, skipped="needs --data"),
    ]
    done, _ = bench(figures, "--json", "-")
    assert done.exit_code == 1
    rows = {line.split("│")[1].strip(): line for line in done.stderr.splitlines() if line.startswith("│")}
    for name, words in {
        "quick": ["3 x", "at least 2 x", "yes"],
        "slow": ["1", "at least 2", "NO"],
        "size": ["12.5 MB", "reported"],
        "absent": ["skipped: needs --data"],
    }.items():
        assert all(word in rows[name] for word in words)
    entries = json.loads(done.stdout)["figures"]
    assert [entry["holds"] for entry in entries.values()] == [True, False, None, None]
    assert [entry["bar"] for entry in entries.values()] == [2.0, 2.0, None, 2.0]


def test_a_bench_that_only_reports_has_run(bench):
    assert bench([Figure("size", None, 12.5)])[0].exit_code == 0


def test_a_bench_that_measured_nothing_could_not_run(bench):
    assert bench([Figure("size", None, None, skipped="needs --data")])[0].exit_code == 2
