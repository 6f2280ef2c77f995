import json
import re

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from anyscene.apps import demo
from anyscene.apps.main import app


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The demo on a few small scenes."""
    folder = tmp_path_factory.mktemp("demo") / "page"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "SPEC", "streets:10?size=96x72")
        done = CliRunner().invoke(app, ["demo", "-o", str(folder), "--json", str(folder / "scores.json")])
    assert done.exit_code == 0, done.output
    return folder, done.output


def test_every_picture_of_the_page_is_there(shown):
    folder, _ = shown
    page = (folder / "index.html").read_text()
    pictures = re.findall(r'src="([^"]+)"', page)
    assert len(pictures) == 2 * 2 + 2 * 3
    for name in pictures:
        with Image.open(folder / name) as picture:
            assert picture.size == (96, 72)


def test_knowing_the_place_beats_knowing_nothing(shown):
    folder, output = shown
    scores = json.loads((folder / "scores.json").read_text())
    everywhere, at_each_place = scores.values()
    assert at_each_place["pixel_accuracy"] > everywhere["pixel_accuracy"] > 0
    assert at_each_place["mean_iou"] > everywhere["mean_iou"]
    assert f"{at_each_place['pixel_accuracy']:.1%}" in output


def test_the_prior_that_does_not_know_the_place_is_one_class(shown):
    folder, _ = shown
    with Image.open(folder / "prior-0-ids.png") as picture:
        assert len(np.unique(np.asarray(picture))) == 1
