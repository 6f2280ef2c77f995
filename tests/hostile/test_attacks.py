"""Each attack that once crashed, hung or exhausted a process is refused in one sentence."""

import json
import os
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import pytest

from tests.hostile.attacks import ATTACKS, forged
from tests.hostile.forge import MODELS, take_apart

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """What came of each attack: all are opened by one process, which a crash would end."""
    folder = tmp_path_factory.mktemp("attacks")
    whole = take_apart(MODELS / "camvid.anyscene")
    paths = {name: folder / f"{place}.anyscene" for place, name in enumerate(ATTACKS)}
    for name, path in paths.items():
        path.write_bytes(forged(ATTACKS[name], deepcopy(whole)))
    found = subprocess.run(
        [sys.executable, "-m", "tests.hostile.victim", "model"],
        input="".join(f"{path}\n" for path in paths.values()),
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", "src")},
    )
    lines = {line["file"]: line for line in map(json.loads, found.stdout.splitlines())}
    return {name: lines.get(path.name, {"verdict": "crash"}) for name, path in paths.items()}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_refused_in_one_sentence(verdicts, name):
    found = verdicts[name]
    assert found["verdict"] == "refused", found
    assert found["seconds"] < 20
    assert found["peak"] < 2 * 2**30
