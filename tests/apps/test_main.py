"""The command line as a script sees it: through a process of its own."""

import json
import subprocess
import sys

import pytest

import anyscene
from anyscene.benchmarks import BENCHES

SMALL = "streets:5?size=96x72"


def run(*arguments, **more):
    command = [sys.executable, "-m", "anyscene", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **more)


def test_version_is_the_packages():
    assert run("--version").stdout == f"anyscene {anyscene.__version__}\n"


def test_a_wrong_option_is_a_usage_error():
    assert run("bench", "--no-such-option").returncode == 2


def test_an_error_for_the_user_is_one_sentence_printed_as_it_is_and_exit_code_2():
    done = run("bench", "[bold]speed[/]")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: there is no bench '[bold]speed[/]'; there are: ")
    assert done.stderr.count("\n") == 1


def test_a_defect_shows_its_traceback_and_is_not_taken_for_a_missed_bar():
    program = (
        "from anyscene.apps.main import app, main\n"
        "@app.command()\n"
        "def crash():\n"
        "    raise RuntimeError('a defect of ours')\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "crash"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Traceback" in done.stderr
    assert "a defect of ours" in done.stderr


def test_bench_lists_its_benches():
    done = run("bench")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(BENCHES)


def test_bench_writes_its_report_to_a_file_and_shows_a_table(tmp_path):
    target = tmp_path / "new" / "metrics.json"
    done = run("bench", "metrics", "--data", SMALL, "--json", target)
    report = json.loads(target.read_text())
    assert report["bench"] == "metrics"
    assert done.returncode == (0 if all(entry["holds"] for entry in report["figures"].values()) else 1)
    assert "at most 1 s" in done.stdout
    assert done.stderr == ""


def test_json_to_stdout_comes_alone():
    done = run("bench", "metrics", "--data", SMALL, "--json", "-")
    assert json.loads(done.stdout)["bench"] == "metrics"
    assert "at most 1 s" in done.stderr


def test_json_without_a_file_is_printed():
    for arguments in (("data", "check", SMALL, "--json"), ("data", "check", "--json", "-", SMALL)):
        assert json.loads(run(*arguments).stdout)


def test_bench_on_data_that_is_not_there_could_not_run(tmp_path):
    done = run("bench", "metrics", "--data", f"camvid:{tmp_path}/nothing")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")


@pytest.mark.parametrize("name", ["AnysceneError", "Labeling", "Step", "data", "metrics"])
def test_public_names_are_found_when_asked_for(name):
    assert name in dir(anyscene)
    assert getattr(anyscene, name) is not None


def test_other_names_are_not_found():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = anyscene.nothing
