"""The two distributions that are built from this repository."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import anyscene

ROOT = Path(__file__).parent.parent
MEBIBYTE = 2**20


def built(project, folder):
    """The wheel of a project."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return built(ROOT, tmp_path_factory.mktemp("product"))


@pytest.fixture(scope="module")
def models_wheel(tmp_path_factory):
    return built(ROOT / "models", tmp_path_factory.mktemp("models"))


def test_the_wheel_is_small_and_holds_the_models_but_no_tests_benchmarks_or_networks_to_start_from(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert wheel.stat().st_size <= 30 * MEBIBYTE
    assert {f"anyscene/models/{name}.anyscene" for name in ("camvid", "stanford", "siftflow")} <= set(names)
    assert "anyscene/apps/streets.anyscene" in names  # the demo's
    assert {re.split(r"[/-]", name)[0] for name in names} == {"anyscene"}
    assert not [name for name in names if name.endswith(".backbone")]
    assert {Path(name).name for name in names if "licenses" in name} == {"LICENSE", "NOTICE"}


def test_the_networks_to_start_from_are_a_distribution_of_their_own(models_wheel):
    names = zipfile.ZipFile(models_wheel).namelist()
    assert {"anyscene_models/joint.backbone", "anyscene_models/camvid.backbone"} <= set(names)
    assert {Path(name).name for name in names if "licenses" in name} == {"LICENSE", "NOTICE"}


def test_both_have_one_version_and_one_set_of_terms():
    models = tomllib.loads((ROOT / "models" / "pyproject.toml").read_text())["project"]
    citation = (ROOT / "CITATION.cff").read_text()
    assert models["version"] == anyscene.__version__
    assert f"version: {anyscene.__version__}\n" in citation
    assert f"## {anyscene.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    for name in ("LICENSE", "NOTICE"):
        assert (ROOT / "models" / name).read_text() == (ROOT / name).read_text()


def test_the_command_starts_from_the_wheel_alone(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    elsewhere = {**os.environ, "PYTHONPATH": str(tmp_path)}
    program = "import anyscene; print(anyscene.__file__); from anyscene.apps.main import main; main()"
    command = [sys.executable, "-c", program, "--help"]
    done = subprocess.run(command, env=elsewhere, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert Path(done.stdout.splitlines()[0]).is_relative_to(tmp_path)
    assert "demo" in done.stdout
