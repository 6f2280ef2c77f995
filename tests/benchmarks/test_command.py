"""`python -m benchmarks` on a bench of our own, whose figures come out as we please."""

import json
import subprocess
import sys
import types
from pathlib import Path

import pytest
from typer.testing import CliRunner

import benchmarks
from benchmarks.__main__ import app
from benchmarks.figures import Bar, Figure

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
        monkeypatch.setitem(sys.modules, "benchmarks.sample", module)
        return CliRunner().invoke(app, ["sample", *arguments]), asked[-1]

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


ROOT = Path(__file__).parent.parent.parent
SMALL = "streets:5?size=96x72"


def run(*arguments):
    """The command as a script sees it: through a process of its own, from the repository's root."""
    command = [sys.executable, "-m", "benchmarks", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=ROOT)


def test_without_a_name_the_benches_are_listed():
    done = run()
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(benchmarks.BENCHES)


def test_an_unknown_bench_is_one_sentence_and_exit_code_2():
    done = run("[bold]speed[/]")
    assert done.returncode == 2
    assert done.stderr.startswith("error: there is no bench '[bold]speed[/]'; there are: ")
    assert done.stderr.count("\n") == 1


def test_a_report_is_written_to_a_file_and_shown_as_a_table(tmp_path):
    target = tmp_path / "new" / "metrics.json"
    done = run("metrics", "--data", SMALL, "--json", target)
    report = json.loads(target.read_text())
    assert report["bench"] == "metrics"
    assert done.returncode == (0 if all(entry["holds"] for entry in report["figures"].values()) else 1)
    assert "at most 1 s" in done.stdout
    assert done.stderr == ""


def test_json_to_stdout_comes_alone():
    done = run("metrics", "--data", SMALL, "--json")
    assert json.loads(done.stdout)["bench"] == "metrics"
    assert "at most 1 s" in done.stderr


def test_data_that_is_not_there_is_an_error_for_the_user(tmp_path):
    done = run("metrics", "--data", f"camvid:{tmp_path}/nothing")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
