import numpy as np
import pytest

from anyscene.evaluation.network_alone import SIZES, fit_to_frame, measure_network_alone
from anyscene.features.hypercolumn.backbone import read_backbone, shipped_backbone
from anyscene.features.hypercolumn.network import Network
from anyscene.features.hypercolumn.rung import NETWORK, Rung


@pytest.mark.parametrize(
    ("shape", "rung", "pixels"),
    [
        ((360, 480), Rung(1.0), (352, 480)),
        ((3000, 4000), Rung(0.5), (192, 256)),
        ((3000, 4000), Rung(0.533, 0.667), (128, 256)),
    ],
)
def test_inputs_are_made_at_a_scale_of_the_working_frame(shape, rung, pixels):
    assert fit_to_frame(np.zeros((*shape, 3), np.uint8), rung).shape[:2] == pixels


def test_the_shipped_backbone_labels_generated_streets_far_better_than_chance(streets):
    """It was trained on photographs; a street that we drew should still be recognised in good part."""
    backbone = read_backbone(shipped_backbone())
    networks = {NETWORK: (Network(backbone.graphs["train"]), backbone.heads["train", "camvid"])}
    seen = []
    (small, large) = measure_network_alone(networks, streets.split("val"), SIZES[-2:], beside=seen.append)
    assert len(seen) == len(streets.split("val"))
    assert large.pixel > 0.4
    assert small.cost_ms > 0
    assert small.counts.sum() == large.counts.sum()
