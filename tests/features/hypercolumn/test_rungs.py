"""Rungs as feature sets, on a network whose scores are known: one 1x1 convolution of the image's colours."""

import numpy as np
import pytest

from anyscene.errors import ConfigError, ModelError
from anyscene.features import RegionFeatures, View
from anyscene.features.hypercolumn.backbone import Backbone
from anyscene.features.hypercolumn.keys import image_key
from anyscene.features.hypercolumn.network import Head, Network, input_size
from anyscene.features.hypercolumn.rungs import (
    HonestLadder,
    is_mirrored,
    ladder,
    rung_name,
    rung_of_name,
    squeezed_sizes,
)
from anyscene.features.view import Rect
from anyscene.hierarchy import Tree, fit

onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.train


@pytest.fixture(scope="module")
def graph():
    """A stand-in with the real graph's interface: its features are the mean colour of each 4x4 block."""
    from onnx import TensorProto, helper

    nodes = [
        helper.make_node("Cast", ["image"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("Transpose", ["numbers"], ["planes"], perm=[2, 0, 1]),
        helper.make_node("Unsqueeze", ["planes", "axis"], ["batch"]),
        helper.make_node("AveragePool", ["batch"], ["blocks"], kernel_shape=[4, 4], strides=[4, 4]),
        helper.make_node("Conv", ["blocks", "head", "bias"], ["made"], kernel_shape=[1, 1]),
        helper.make_node("Squeeze", ["made", "axis"], ["first"]),
        helper.make_node("Transpose", ["first"], ["scores"], perm=[1, 2, 0]),
    ]
    inputs = [
        helper.make_tensor_value_info("image", TensorProto.UINT8, ["h", "w", 3]),
        helper.make_tensor_value_info("head", TensorProto.FLOAT, ["k", 3, 1, 1]),
        helper.make_tensor_value_info("bias", TensorProto.FLOAT, ["k"]),
    ]
    outputs = [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["a", "b", "k"])]
    axis = helper.make_tensor("axis", TensorProto.INT64, [1], [0])
    made = helper.make_graph(nodes, "colours", inputs, outputs, [axis])
    return helper.make_model(
        made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    ).SerializeToString()


HEAD = Head(np.array([[0.1, 0, 0], [0, 0, 0.1], [0, 1, 0]], np.float32), np.zeros(3, np.float32), classes=2)
WHOLE, HALF = ("1000",), ("500",)


@pytest.fixture(scope="module")
def image():
    """Red on the left, blue on the right."""
    image = np.zeros((96, 128, 3), np.uint8)
    image[:, :64, 0] = 200
    image[:, 64:, 2] = 200
    return image


def test_regions_get_class_probabilities_and_the_embedding(graph, image):
    tree = Tree(image)
    tree.grow(8)
    rungs = ladder(Network(graph), HEAD, ("250", *WHOLE))
    regions = RegionFeatures(rungs, View(image), tree)
    for name in rungs:
        features = regions.features(name, tree.depth - 1)
        assert features.shape == (len(tree.areas[-1]), 3)
        np.testing.assert_allclose(features[:, :2].sum(axis=1), 1, atol=1e-5)
    root = regions.features(rung_name((1.0, 1.0)), 0)[0]
    np.testing.assert_allclose(root, [0.5, 0.5, 0], atol=0.02)


def test_a_crop_covers_only_the_regions_inside_it(graph, image):
    tree = Tree(image)
    tree.grow(8)
    rungs = ladder(Network(graph), HEAD, WHOLE)
    regions = RegionFeatures(rungs, View(image), tree)
    name = rung_name((1.0, 1.0))
    regions.extract(name, Rect(0, 0, 96, 64))
    covered = regions.covered(name, tree.depth - 1)
    inside = tree.boxes[-1][:, 3] <= 64
    assert covered.any()
    assert not covered[~inside].any()
    features = regions.features(name, tree.depth - 1)[covered]
    np.testing.assert_allclose(features[:, 0], 1, atol=0.01)


@pytest.mark.parametrize("rect", [Rect(0, 0, 96, 128), Rect(32, 0, 96, 32), Rect(0, 64, 64, 128)])
def test_the_map_of_a_mirrored_rung_lies_as_the_frame_does(graph, image, rect):
    plain, mirrored = ladder(Network(graph), HEAD, ("1000", "1000m")).values()
    assert mirrored.name == "hypercolumn@1000m"
    assert mirrored.fineness > plain.fineness
    view = View(image)
    np.testing.assert_allclose(mirrored.extract(view, rect, 0), plain.extract(view, rect, 0), atol=1e-5)


@pytest.mark.parametrize(
    "name", ["hypercolumn@250", "hypercolumn@1000m", "hypercolumn@533s667", "hypercolumn@1000s667m"]
)
def test_a_rung_is_made_by_its_name(graph, name):
    assert rung_of_name(name, Network(graph), HEAD, speaks=True).name == name


def test_the_cost_of_a_rung_is_the_size_of_its_input(graph):
    rung = ladder(Network(graph), HEAD, HALF)[rung_name((0.5, 1.0))]
    assert rung.extraction_pixels(Rect(0, 0, 360, 480), (360, 480)) == 192 * 256
    squeezed = rung.at((0.5, 0.667))
    assert squeezed.extraction_pixels(Rect(0, 0, 360, 480), (360, 480)) == 128 * 256
    corner = rung.extraction_pixels(Rect(0, 0, 90, 120), (360, 480))
    assert 48 * 64 < corner < 192 * 256


def test_a_frame_wider_than_4_to_3_is_squeezed_less():
    assert input_size(360, 480, 0.533, 0.667) == (128, 256)
    assert input_size(270, 480, 0.533, 0.667) == (128, 256)
    assert input_size(180, 480, 0.533, 0.667) == (96, 256)
    assert input_size(480, 360, 0.533, 0.667) == (160, 192)


def test_squeezed_maps_cover_the_frame(graph, image):
    view = View(image)
    whole, squeezed = ladder(Network(graph), HEAD, ("1000", "1000s667")).values()
    tall, low = (rung.extract(view, view.rect, 0) for rung in (whole, squeezed))
    assert low.shape == (tall.shape[0] * 2 // 3, *tall.shape[1:])
    np.testing.assert_allclose(low, tall[: len(low)], atol=1e-5)  # from top to bottom all rows are the same
    assert whole.fingerprint() != squeezed.fingerprint()
    assert whole.fineness > squeezed.fineness


def test_names_of_rungs_tell_squeezed_and_mirrored_ones():
    names = ("place", "hypercolumn@500", "hypercolumn@500s667", "hypercolumn@500s667m")
    assert squeezed_sizes(names) == ((0.5, 0.667),)
    assert [is_mirrored(name) for name in names] == [False, False, False, True]


def test_mirrored_rungs_need_a_head_that_speaks(graph):
    assert list(ladder(Network(graph), HEAD, ("500", "500m"), speaks=False)) == ["hypercolumn@500"]
    with pytest.raises(ConfigError, match="mirrored"):
        ladder(Network(graph), HEAD, ("500m",), speaks=False)


@pytest.mark.parametrize(("side", "scale", "expected"), [(1, 1.0, 32), (480, 1.0, 480), (360, 0.5, 192)])
def test_inputs_are_multiples_of_32(side, scale, expected):
    assert input_size(side, side, scale) == (expected, expected)


def test_fitting_keeps_an_image_of_the_right_size_as_it_is(image):
    assert (fit(image, (96, 128)) == image).all()
    assert fit(image[:1, :1], (32, 32)).shape == (32, 32, 3)


def test_each_image_gets_the_rungs_of_a_part_that_has_not_seen_it(graph, image):
    key = image_key(image)
    shared = {"classes": {"x": ("red", "blue")}, "recipes": {"train": {}, "a": {}}}
    heads = {("train", "x"): HEAD, ("a", "x"): HEAD}
    graphs = {"train": graph, "a": graph}
    seen = {"train": frozenset({key}), "a": frozenset[str]()}
    honest = HonestLadder(Backbone(graphs=graphs, heads=heads, seen=seen, **shared), "x", HALF)
    assert honest.for_image(image) is honest.of_part("a")
    assert honest.for_image(image[:, ::-1]) is honest.of_part("train")
    fooled = HonestLadder(
        Backbone(graphs=graphs, heads=heads, seen=seen | {"a": frozenset({key})}, **shared), "x"
    )
    with pytest.raises(ModelError, match="cannot be learned from"):
        fooled.for_image(image)
    with pytest.raises(ConfigError, match="no head for 'y'"):
        HonestLadder(Backbone(graphs=graphs, heads=heads, seen=seen, **shared), "y")


def test_a_bare_ladder_has_the_classes_alone(graph, image):
    backbone = Backbone(
        classes={"x": ("red", "blue")},
        graphs={"train": graph},
        heads={("train", "x"): HEAD},
        seen={"train": frozenset[str]()},
        recipes={"train": {}},
    )
    assert len(HEAD.bias) > HEAD.classes
    widths = [
        HonestLadder(backbone, "x", HALF, bare=bare).for_image(image)[rung_name((0.5, 1.0))].dimensions
        for bare in (False, True)
    ]
    assert widths == [len(HEAD.bias), HEAD.classes]


def test_the_fingerprint_tells_scales_and_heads_apart(graph):
    network = Network(graph)
    other = Head(HEAD.weight * 2, HEAD.bias, HEAD.classes)
    prints = {
        rung.fingerprint()
        for head in (HEAD, other)
        for rung in ladder(network, head, (*HALF, *WHOLE)).values()
    }
    assert len(prints) == 4
