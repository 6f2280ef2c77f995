"""The frontier bench, on a CamVid tree of generated streets: few and small, so no bar is expected to hold."""

import numpy as np
import pytest
from PIL import Image

from anyscene.benchmarks import frontier
from anyscene.benchmarks.figures import Request
from anyscene.data import open as open_data
from anyscene.errors import ConfigError, ModelError

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


def test_sizes_halves_and_crops_are_all_measured(camvid):
    figures = {figure.name: figure for figure in frontier.run(Request(camvid, "val"))}
    assert len(figures[frontier.SIZES].parts["points"]) >= 8
    halves = [figure for name, figure in figures.items() if name.startswith("cross-fit")]
    assert len(halves) == 2
    for half in halves:
        assert len(half.parts["classes"]) == 11
    equal = [figure for name, figure in figures.items() if name.endswith("equal to the whole run's")]
    assert len(equal) == len(frontier.CROPS)
    for figure in equal:
        assert figure.bar is not None
        if figure.value is not None:
            assert 0.5 < figure.value <= 1
            assert figure.parts["share of the frame labelled"] <= figure.parts["share of the frame read"]


def test_without_data_there_is_nothing_to_measure():
    with pytest.raises(ConfigError, match="needs a data set"):
        list(frontier.run(Request()))


def test_the_backbone_of_the_request_is_the_one_measured(camvid, tmp_path):
    with pytest.raises(ModelError, match=r"none\.backbone"):
        list(frontier.run(Request(camvid, "val", str(tmp_path / "none.backbone"))))
