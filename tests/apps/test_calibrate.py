"""`anyscene calibrate`: fast, kept, and told as JSON."""

import json
import time

from typer.testing import CliRunner

from anyscene.apps.main import app
from anyscene.costs.calibration_file import load_calibration


def test_a_quick_calibration_takes_seconds_and_is_kept():
    command = ["calibrate", "--quick", "--json", "-"]
    CliRunner().invoke(app, command)  # in a fresh clone this compiles every kernel, which takes longer
    begun = time.process_time()
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert time.process_time() - begun < 20
    document = json.loads(result.stdout)
    kept = load_calibration(document["key"])
    assert kept is not None
    assert kept.to_json() == document
    assert {"extract:semantics", "pool:color", "grow:7", "paint"} <= document["steps"].keys()
