import json
import re

import pytest
from PIL import Image
from typer.testing import CliRunner

from anyscene.apps import demo
from anyscene.apps.main import app


@pytest.fixture(scope="module")
def shown(model_file, tmp_path_factory):
    """The demo with a small model, on two small streets."""
    folder = tmp_path_factory.mktemp("demo") / "page"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "STREETS", "streets:10?size=96x72")
        arguments = [
            "demo",
            "-o",
            str(folder),
            "--model",
            str(model_file),
            "--json",
            str(folder / "rows.json"),
        ]
        done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    return folder, done.output


def test_every_picture_of_the_page_is_there(shown):
    folder, _ = shown
    pictures = re.findall(r'src="([^"]+)"', (folder / "index.html").read_text())
    assert len(pictures) == (1 + len(demo.BUDGETS)) + 2 * (2 + len(demo.BUDGETS))
    for name in pictures:
        with Image.open(folder / name) as picture:
            assert picture.size in ((640, 427), (96, 72))
    assert len(list(folder.glob("*-ids.png"))) == 3 * len(demo.BUDGETS)


def test_budgets_times_steps_and_accuracy_are_told(shown):
    folder, output = shown
    photograph, streets = json.loads((folder / "rows.json").read_text()).values()
    for group in (photograph, streets):
        assert [row["budget_ms"] for row in group["budgets"]] == list(demo.BUDGETS)
    assert all(row["accuracy"] is None for row in photograph["budgets"])
    assert 0 < streets["budgets"][-1]["accuracy"] <= 1
    assert f"{streets['budgets'][-1]['accuracy']:.1%}" in output
    assert "china.jpg" in output


def test_the_curve_has_accuracy_for_streets_alone(shown):
    page = (shown[0] / "index.html").read_text()
    assert page.count("<polyline") == 3
    assert page.count("pixels right, ") == 1
