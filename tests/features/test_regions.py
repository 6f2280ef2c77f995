"""Region features: lazy, final once pooled, and the same whichever way they were asked for."""

import numpy as np
import pytest

from anyscene.errors import ConfigError
from anyscene.features import FeatureSet, Pooling, RegionFeatures, View
from anyscene.hierarchy import LAYERS, Tree


class Echo(FeatureSet):
    """A set with a smooth map, which counts how often it is extracted."""

    name = "echo"
    dimensions = channels = 1
    pooling = Pooling.MEAN
    stride = None

    def __init__(self):
        self.calls = 0

    def extract(self, view):
        """A few cells."""
        self.calls += 1
        return np.full((3, 4, 1), self.calls, np.float32)


def region_features(bank, image, depth=LAYERS):
    tree = Tree(image)
    tree.grow(depth)
    return RegionFeatures(bank, View(image), tree), tree


def steps(regions):
    return [charge.work.step for charge in regions.view.ledger.charges]


def test_nothing_is_computed_until_asked_for(bank, street):
    regions, _ = region_features(bank, street)
    assert steps(regions) == []
    regions.features("lbp", 2)
    assert {step for step in steps(regions) if "extract" in step} == {"extract:lbp"}


def test_asking_again_costs_nothing(bank, street):
    regions, _ = region_features(bank, street)
    for name in bank:
        regions.features(name, 5)
    before = len(steps(regions))
    for name in bank:
        assert regions.pending(name, 5) == []
        regions.features(name, 5)
    assert len(steps(regions)) == before


def test_shared_maps_are_charged_once_to_whoever_came_first(bank, street):
    regions, _ = region_features(bank, street)
    assert "shared:gradient" in [work.step for work in regions.pending("hog", 3)]
    regions.features("hog", 3)
    assert "shared:gradient" not in [work.step for work in regions.pending("geometry", 3)]
    regions.features("geometry", 3)
    assert steps(regions).count("shared:gradient") == 1


def test_foreseen_work_is_the_work_done(bank, street):
    regions, tree = region_features(bank, street, 3)
    for depth in (3, 6, LAYERS):
        tree.grow(depth)
        for name in bank:
            foreseen = regions.pending(name, depth - 1)
            before = len(regions.view.ledger.charges)
            regions.features(name, depth - 1)
            done = [charge.work for charge in regions.view.ledger.charges[before:]]
            # Taps that another set left behind are foreseen all the same.
            assert {work for work in foreseen if work.step != "taps"} == {
                work for work in done if work.step != "taps"
            }


def test_features_do_not_depend_on_how_the_tree_was_grown(bank, street):
    at_once, _ = region_features(bank, street)
    stepwise, tree = region_features(bank, street, 1)
    for depth in range(1, LAYERS + 1):
        tree.grow(depth)
        for name in bank:
            stepwise.features(name, depth - 1)
    for name in bank:
        for layer in range(LAYERS):
            np.testing.assert_allclose(
                stepwise.features(name, layer), at_once.features(name, layer), atol=1e-5
            )


def test_growing_the_tree_pools_new_layers_only(bank, street):
    regions, tree = region_features(bank, street, 3)
    coarse = regions.features("texture", 2)
    tree.grow(LAYERS)
    assert not [work for work in regions.pending("texture", 2) if work.step.startswith(("pool", "extract"))]
    assert not [work for work in regions.pending("texture", LAYERS - 1) if work.step.startswith("extract")]
    regions.features("texture", LAYERS - 1)
    assert regions.features("texture", 2) is coarse
    assert steps(regions).count("extract:texture") == 1


def test_a_map_in_hand_is_not_extracted_again(street):
    echo = Echo()
    regions, _ = region_features({"echo": echo}, street)
    regions.extract("echo")
    regions.extract("echo")
    assert echo.calls == 1
    assert regions.pending("echo", 3)[0].step != "extract:echo"


def test_view_and_tree_must_be_of_one_frame(bank, street):
    with pytest.raises(ConfigError, match="use one"):
        RegionFeatures(bank, View(street[:50]), Tree(street))


def test_the_image_as_a_whole_takes_the_mean_of_a_smooth_map(street):
    """No grid is drawn and no taps are built for it."""

    class Ramp(Echo):
        def extract(self, view):
            return np.arange(12, dtype=np.float32).reshape(3, 4, 1)

    regions, _ = region_features({"echo": Ramp()}, street)
    foreseen = [work.step for work in regions.pending("echo", 0)]
    np.testing.assert_allclose(regions.features("echo", 0), [[5.5]])
    assert steps(regions) == foreseen == ["extract:echo", "average:echo", "finish:echo"]
    assert len(np.unique(regions.features("echo", 4))) > 4
