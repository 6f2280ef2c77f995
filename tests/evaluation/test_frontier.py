import numpy as np
import pytest

from anyscene.evaluation.frontier import SIZES, Point, best_within, fit_to_frame, measure_frontier
from anyscene.evaluation.plots import plot_frontier
from anyscene.features.hypercolumn.backbone import read_backbone, shipped_backbone
from anyscene.features.hypercolumn.network import Network


def point(cost, pixel):
    return Point((1.0, 1.0), "scores", cost, pixel, pixel, pixel, np.zeros((1, 2), np.int64))


def test_the_frontier_is_the_best_that_a_budget_buys():
    points = [point(2, 0.8), point(5, 0.7), point(9, 0.9)]
    assert np.isnan(best_within(points, 1.9))
    assert best_within(points, 2) == 0.8
    assert best_within(points, 6) == 0.8
    assert best_within(points, 100) == 0.9


@pytest.mark.parametrize(
    ("shape", "size", "pixels"),
    [
        ((360, 480), (1.0, 1.0), (352, 480)),
        ((3000, 4000), (0.5, 1.0), (192, 256)),
        ((3000, 4000), (0.533, 0.667), (128, 256)),
    ],
)
def test_inputs_are_made_at_a_scale_of_the_working_frame(shape, size, pixels):
    assert fit_to_frame(np.zeros((*shape, 3), np.uint8), size).shape[:2] == pixels


def test_the_shipped_backbone_labels_generated_streets_far_better_than_chance(streets):
    """It was trained on photographs; a street that we drew should still be recognised in good part."""
    backbone = read_backbone(shipped_backbone())
    network = Network(backbone.graphs["train"])
    seen = []
    (small, large) = measure_frontier(
        network, backbone.heads["train", "camvid"], streets.split("val"), SIZES[-2:], beside=seen.append
    )
    assert len(seen) == len(streets.split("val"))
    assert large.pixel > 0.4
    assert small.cost_ms > 0
    assert small.counts.sum() == large.counts.sum()


def test_the_frontier_can_be_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    rows = [{"scale": s, "cost_ms": 10 * s, "pixel": 0.5 + s / 4, "iou": s / 2} for s in (0.25, 0.5, 1.0)]
    plot_frontier(rows, "A title", tmp_path / "plot.svg")
    assert "<svg" in (tmp_path / "plot.svg").read_text()
