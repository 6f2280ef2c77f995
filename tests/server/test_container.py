"""The Dockerfile, as far as it can be read: what it copies is there, and what it runs has those options."""

import re
import shlex
from pathlib import Path

from typer.testing import CliRunner

from anyscene.apps.main import app
from anyscene.server.security import OPEN_PATHS

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()


def told(word):
    """The rest of all lines that begin with a word."""
    return [line.partition(" ")[2].strip() for line in LINES if line.startswith(f"{word} ")]


def test_all_that_is_copied_is_there_and_sent_to_docker():
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for files in told("COPY"):
        *sources, _ = shlex.split(files)
        for source in sources:
            assert source.startswith("--from") or source in sent or source.startswith("/opt")
            assert source.startswith(("--from", "/")) or (ROOT / source).exists()


def test_the_server_has_no_rights_and_owns_the_folders_of_its_caches():
    (user,) = told("USER")
    assert int(user) > 0
    made = next(line for line in told("RUN") if "useradd" in line)
    assert f"--uid {user}" in made
    caches = re.findall(r"(?:NUMBA_CACHE_DIR|ANYSCENE_CACHE)=(\S+)", " ".join(told("ENV")))
    assert len(caches) == 2
    assert all(folder in made.partition("install -d -o anyscene")[2].split() for folder in caches)


def test_what_it_runs_is_a_command_of_ours():
    (entry,) = told("ENTRYPOINT")
    program, command, *options = re.findall(r'"([^"]+)"', entry)
    assert (program, command) == ("anyscene", "serve")
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output
    assert all(option in shown for option in options if option.startswith("--"))
    assert told("STOPSIGNAL") == ["SIGTERM"]


def test_its_health_is_asked_where_no_token_is_needed():
    (asked,) = re.findall(r"http://127\.0\.0\.1:8000(/\w+)", " ".join(told("HEALTHCHECK")))
    assert asked in OPEN_PATHS
