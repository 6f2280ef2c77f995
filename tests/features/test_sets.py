"""One suite that every feature set passes, whatever the image; and how a tenth set is added."""

import numpy as np
import pytest

from anyscene.errors import ConfigError, DataError, ModelError
from anyscene.features import (
    FeatureSet,
    Pooling,
    RegionFeatures,
    View,
    bank_from_arrays,
    bank_to_arrays,
    list_feature_sets,
    register,
    sets,
)
from anyscene.hierarchy import LAYERS, Tree, working_frame

NAMES = list_feature_sets()
NOISE = np.random.default_rng(0)

IMAGES = {
    "one pixel": NOISE.integers(0, 256, (1, 1, 3), dtype=np.uint8),
    "tiny": NOISE.integers(0, 256, (3, 2, 3), dtype=np.uint8),
    "a line": NOISE.integers(0, 256, (1, 300, 3), dtype=np.uint8),
    "a column": NOISE.integers(0, 256, (301, 2, 3), dtype=np.uint8),
    "constant": np.full((90, 120, 3), 77, np.uint8),
    "black": np.zeros((37, 41, 3), np.uint8),
    "noise": NOISE.integers(0, 256, (131, 97, 3), dtype=np.uint8),
}


def test_the_eight_sets_of_the_paper_beside_the_hypercolumn_are_registered_and_our_own():
    paper = ("color", "position", "texture", "lbp", "hog", "sift", "geometry", "semantics")
    assert (*paper, "place") == NAMES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("image", IMAGES.values(), ids=IMAGES.keys())
def test_every_set_describes_every_image(bank, name, image):
    tree = Tree(image)
    tree.grow(LAYERS)
    regions = RegionFeatures(bank, View(image), tree)
    for layer in (0, 3, LAYERS - 1):
        features = regions.features(name, layer)
        assert features.shape == (len(tree.areas[layer]), bank[name].dimensions)
        assert features.dtype == np.float32
        assert np.isfinite(features).all()


def test_every_set_describes_twenty_megapixels(bank):
    small = NOISE.integers(0, 256, (40, 50, 3), dtype=np.uint8)
    image = working_frame(small.repeat(100, axis=0).repeat(100, axis=1))
    tree = Tree(image)
    tree.grow(LAYERS)
    regions = RegionFeatures(bank, View(image), tree)
    for name in bank:
        assert np.isfinite(regions.features(name, LAYERS - 1)).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_maps_of_a_set_are_the_same_each_time(bank, name, street):
    chosen = bank[name]
    if chosen.pooling is None:
        pytest.skip("has no map")
    first, second = (chosen.extract(view) for view in (View(street), View(street)))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", NAMES)
def test_needs_are_the_shared_maps_that_extraction_asks_for(bank, name, street):
    chosen, view = bank[name], View(street).at(4 if bank[name].follows_tree else 1)
    if chosen.pooling is None:
        pytest.skip("has no map")
    chosen.extract(view)
    asked = {charge.work.step.removeprefix("shared:") for charge in view.ledger.charges}
    declared = {f"{need}/4" if chosen.follows_tree else need for need in chosen.needs if need != sets.SHAPES}
    assert asked == declared


def test_a_bank_survives_as_arrays(bank, street):
    again = bank_from_arrays(bank, bank_to_arrays(bank))
    assert {name: chosen.fingerprint() for name, chosen in again.items()} == {
        name: chosen.fingerprint() for name, chosen in bank.items()
    }


def test_fingerprints_follow_what_was_learned(bank):
    arrays = bank_to_arrays(bank)
    changed = bank_from_arrays(["sift"], arrays | {"sift/words": arrays["sift/words"] + 1})
    assert changed["sift"].fingerprint() != bank["sift"].fingerprint()


def test_arrays_that_do_not_fit_are_refused(bank):
    with pytest.raises(ModelError, match="'sift' do not fit"):
        bank_from_arrays(["sift"], {"sift/colours": np.zeros(3)})


def test_an_unknown_set_is_named_together_with_those_there_are():
    with pytest.raises(ConfigError, match="no feature set 'smell'; there are color"):
        sets.feature_set_class("smell")


@pytest.mark.parametrize(
    "image", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8)]
)
def test_a_view_needs_a_colour_image(image):
    with pytest.raises(DataError, match="an image must be"):
        View(image)


def test_a_tenth_set_is_a_class_and_a_line(monkeypatch, street):
    monkeypatch.setattr(sets, "_REGISTRY", sets._REGISTRY.copy())

    @register
    class Saturation(FeatureSet):
        """How colourful a region is, on average and in its variation."""

        name = "saturation"
        dimensions = 2
        pooling = Pooling.MOMENTS
        channels = 1

        def extract(self, view):
            """The spread of red, green and blue at each pixel, float32[h, w, 1]."""
            colors = view.image.astype(np.float32)
            return colors.max(axis=2, keepdims=True) - colors.min(axis=2, keepdims=True)

    assert list_feature_sets()[-1] == "saturation"
    tree = Tree(street)
    tree.grow(LAYERS)
    regions = RegionFeatures(bank_from_arrays(["saturation"], {}), View(street), tree)
    colour = street.astype(float)
    spread = colour.max(axis=2) - colour.min(axis=2)
    np.testing.assert_allclose(regions.features("saturation", 0), [[spread.mean(), spread.std()]], rtol=1e-4)


def test_two_sets_of_one_name_are_refused(monkeypatch):
    monkeypatch.setattr(sets, "_REGISTRY", sets._REGISTRY.copy())
    with pytest.raises(ConfigError, match="two feature sets are called 'lbp'"):

        @register
        class Imposter(FeatureSet):
            name = "lbp"
