import json
import math
import re

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import anyscene
from anyscene import metrics
from anyscene.apps import demo
from anyscene.apps.main import app
from anyscene.marks import is_ours


@pytest.fixture(scope="module")
def shown(model_file, tmp_path_factory):
    """The demo with a small model, on five small streets, of which three are shown."""
    folder = tmp_path_factory.mktemp("demo") / "page"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "STREETS", "streets:25?size=96x72")
        patch.setattr(demo, "DRIVE_FRAMES", 6)
        patch.setattr(demo, "DRIVE_SIZE", (96, 72))
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
    assert pictures.pop() == "stream.gif"
    assert len(pictures) == (1 + len(demo.BUDGETS)) + 3 * (2 + len(demo.BUDGETS))
    for name in pictures:
        with Image.open(folder / name) as picture:
            assert picture.size in ((640, 427), (96, 72))
    assert len(list(folder.glob("*-ids.png"))) == 4 * len(demo.BUDGETS)


def test_budgets_times_steps_and_accuracy_are_told(shown):
    folder, output = shown
    told = json.loads((folder / "rows.json").read_text())
    photograph, streets = (group for name, group in told.items() if name not in ("comment", "stream"))
    for group in (photograph, streets):
        assert [row["budget_ms"] for row in group["budgets"]] == list(demo.BUDGETS)
    assert all(row["accuracy"] is None for row in photograph["budgets"])
    assert 0 < streets["budgets"][-1]["accuracy"] <= 1
    assert f"{streets['budgets'][-1]['accuracy']:.1%}" in output
    assert "china.jpg" in output
    assert "5 generated streets" in output
    assert "3 of them are shown" in (folder / "index.html").read_text()


def test_a_stream_is_shown_beside_single_frames(shown):
    folder, _ = shown
    with Image.open(folder / "stream.gif") as moving:
        assert moving.n_frames == 6
        assert moving.size == (3 * 320, 240)
        labelled = moving.convert("RGB").crop((320, 0, 960, 240))
        assert len(labelled.getcolors(2**20)) > 2
    assert is_ours(folder / "stream.gif")
    told = json.loads((folder / "rows.json").read_text())["stream"]
    assert (told["frames"], told["budget_ms"]) == (6, demo.BUDGETS[1])
    page = (folder / "index.html").read_text()
    assert f"{told['accuracy_alone']:.1%} frame by frame, {told['accuracy_stream']:.1%} as a stream" in page


def test_the_curve_has_accuracy_for_streets_alone(shown):
    page = (shown[0] / "index.html").read_text()
    assert page.count("<polyline") == 3
    assert page.count("pixels right, ") == 1


def test_every_picture_has_a_legend_of_what_is_seen(shown):
    page = (shown[0] / "index.html").read_text()
    legends = re.findall(r"<div><p>(.*?)</p>", page)
    assert len(legends) == 4
    for legend in legends:
        shares = [int(share) for share in re.findall(r" (\d+)%</span>", legend)]
        assert 90 <= sum(shares) <= 105
        assert shares == sorted(shares, reverse=True)


def test_the_axis_shows_the_gain_and_the_page_says_what_to_try_next(shown):
    page = (shown[0] / "index.html").read_text()
    told = json.loads((shown[0] / "rows.json").read_text())
    rows = [row for group in told.values() if "budgets" in group for row in group["budgets"]]
    lowest = min(row[what] for row in rows for what in ("accuracy", "confidence") if row[what] is not None)
    assert f">{10 * math.floor(10 * lowest)}%</text>" in page
    values = [
        float(y)
        for points in re.findall(r'polyline points="([^"]+)"', page)
        for y in (pair.split(",")[1] for pair in points.split())
    ]
    assert max(values) - min(values) > 30  # of 194 pixels
    assert "anyscene label photo.jpg --overlay" in page


def test_the_demos_model_labels_new_streets_better_with_every_step():
    model = anyscene.load(demo.STREETS_MODEL)
    scenes = anyscene.data.open("streets:12?size=480x360&seed=5").split("all")
    assert model.classes == anyscene.data.open(demo.STREETS).classes
    right = np.mean(
        [
            [
                metrics.pixel_accuracy(metrics.count(scene.truth, out.labels, len(model.classes)))
                for out in model.stream(scene.image)
            ]
            for scene in scenes
        ],
        axis=0,
    )
    assert right[-1] > 0.8
    assert (np.maximum.accumulate(right) - right).max() < 0.003
