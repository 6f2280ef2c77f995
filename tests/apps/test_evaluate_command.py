"""`anyscene evaluate`: what it says before it starts to work."""

import sys

from typer.testing import CliRunner

from anyscene.apps.main import app
from anyscene.errors import ConfigError


def test_a_report_that_could_not_be_drawn_is_refused_before_anything_is_scored(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # as if it were not installed
    report = tmp_path / "report"
    given = ["--data", "streets:4", "--model", "camvid", "-o", str(report)]
    done = CliRunner().invoke(app, ["evaluate", *given])
    assert isinstance(done.exception, ConfigError)
    assert "anyscene[report]" in str(done.exception)
    assert not report.exists()
