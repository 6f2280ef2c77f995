"""The frontier bench, on a CamVid tree of generated streets: few and small, so no bar is expected to hold."""

import numpy as np
import pytest
from PIL import Image

from anyscene.data import open as open_data
from anyscene.errors import ConfigError, ModelError
from benchmarks import frontier
from benchmarks.figures import Request
from benchmarks.frontier_plot import plot_frontier

NAMES = {"train": ["0001TP_006690", "0006R0_f00930"], "val": ["0016E5_07959", "0016E5_07961"]}


@pytest.fixture(scope="module")
def camvid(tmp_path_factory):
    root = tmp_path_factory.mktemp("CamVid")
    scenes = iter(open_data("streets:4?size=240x180").split("all"))
    for split, names in NAMES.items():
        (root / split).mkdir()
        (root / f"{split}annot").mkdir()
        for name in names:
            scene = next(scenes)
            Image.fromarray(scene.image).save(root / split / f"{name}.png")
            truth = np.where(scene.truth < 0, 11, scene.truth % 11).astype(np.uint8)
            Image.fromarray(truth).save(root / f"{split}annot" / f"{name}.png")
    return f"camvid:{root}"


def test_sizes_and_halves_are_all_measured(camvid):
    figures = {figure.name: figure for figure in frontier.run(Request(camvid, "val"))}
    assert len(figures[frontier.SIZES].parts["points"]) >= 8
    halves = [figure for name, figure in figures.items() if name.startswith("cross-fit")]
    assert len(halves) == 2
    for half in halves:
        assert len(half.parts["classes"]) == 11


def test_without_data_there_is_nothing_to_measure():
    with pytest.raises(ConfigError, match="needs a data set"):
        list(frontier.run(Request()))


def test_the_backbone_of_the_request_is_the_one_measured(camvid, tmp_path):
    with pytest.raises(ModelError, match=r"none\.backbone"):
        list(frontier.run(Request(camvid, "val", str(tmp_path / "none.backbone"))))


def test_the_frontier_can_be_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    rows = [{"scale": s, "cost_ms": 10 * s, "pixel": 0.5 + s / 4, "iou": s / 2} for s in (0.25, 0.5, 1.0)]
    plot_frontier(rows, "A title", tmp_path / "plot.svg")
    assert "<svg" in (tmp_path / "plot.svg").read_text()
