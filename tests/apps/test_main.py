"""The command line as a script sees it: through a process of its own."""

import json
import os
import subprocess
import sys

import pytest

import anyscene

SMALL = "streets:5?size=96x72"


def run(*arguments, **more):
    command = [sys.executable, "-m", "anyscene", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **more)


def test_version_is_the_packages():
    assert run("--version").stdout == f"anyscene {anyscene.__version__}\n"


def test_without_arguments_the_help_is_shown():
    done = run()
    assert "Usage: " in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_wrong_option_is_a_usage_error():
    assert run("data", "check", "--no-such-option").returncode == 2


def test_an_error_for_the_user_is_one_sentence_printed_as_it_is_and_exit_code_2():
    done = run("data", "check", "[bold]camvid[/]")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert "[bold]camvid[/]" in done.stderr
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


@pytest.mark.parametrize(("typed", "found"), [("la", "label\n"), ("label --files-", "--files-from\n")])
def test_a_shell_completes_commands_and_options(typed, found):
    program = "import sys; sys.argv[0] = 'anyscene'; from anyscene.apps.main import main; main()"
    asked = {"_ANYSCENE_COMPLETE": "complete_bash", "COMP_WORDS": f"anyscene {typed}"}
    asked["COMP_CWORD"] = str(len(typed.split()))
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | asked, capture_output=True, text=True, check=True
    )
    assert done.stdout == found


def test_json_without_a_file_is_printed():
    for arguments in (("data", "check", SMALL, "--json"), ("data", "check", "--json", "-", SMALL)):
        assert json.loads(run(*arguments).stdout)


@pytest.mark.parametrize("name", ["AnysceneError", "Labeling", "Step", "data", "metrics"])
def test_public_names_are_found_when_asked_for(name):
    assert name in dir(anyscene)
    assert getattr(anyscene, name) is not None


def test_other_names_are_not_found():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = anyscene.nothing
