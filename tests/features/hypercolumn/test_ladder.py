"""Rungs as feature sets, on a network whose scores are known: one 1x1 convolution of the image's colours."""

import numpy as np
import pytest

from anyscene.errors import ConfigError, ModelError
from anyscene.features import RegionFeatures, View
from anyscene.features.hypercolumn.backbone import Backbone
from anyscene.features.hypercolumn.image_keys import image_key
from anyscene.features.hypercolumn.ladder import HonestLadder, glance_at, ladder
from anyscene.features.hypercolumn.network import Head, Network
from anyscene.features.hypercolumn.rung import Rung
from anyscene.hierarchy import Tree, fit

onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.train


@pytest.fixture(scope="module")
def graph():
    """A stand-in with the real graph's interface: its features are the mean colour of each 4x4 block."""
    from onnx import TensorProto, helper, numpy_helper

    nodes = [
        helper.make_node("Cast", ["image"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("Transpose", ["numbers"], ["planes"], perm=[2, 0, 1]),
        helper.make_node("Unsqueeze", ["planes", "axis"], ["batch"]),
        helper.make_node(
            "Conv", ["batch", "sixteenth", "zero"], ["blocks"], group=3, kernel_shape=[4, 4], strides=[4, 4]
        ),
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
    constants = {
        "axis": np.zeros(1, np.int64),
        "sixteenth": np.full((3, 1, 4, 4), 1 / 16, np.float32),
        "zero": np.zeros(3, np.float32),
    }
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    made = helper.make_graph(nodes, "colours", inputs, outputs, tensors)
    return helper.make_model(
        made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    ).SerializeToString()


HEAD = Head(np.array([[0.1, 0, 0], [0, 0, 0.1], [0, 1, 0]], np.float32), np.zeros(3, np.float32), classes=2)
WHOLE, HALF, MIRRORED = Rung(1.0), Rung(0.5), Rung(0.5, mirrored=True)


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
    rungs = ladder(Network(graph), HEAD, (Rung(0.25), WHOLE))
    regions = RegionFeatures(rungs, View(image), tree)
    for name in rungs:
        features = regions.features(name, tree.depth - 1)
        assert features.shape == (len(tree.areas[-1]), 3)
        np.testing.assert_allclose(features[:, :2].sum(axis=1), 1, atol=1e-5)
    root = regions.features(str(WHOLE), 0)[0]
    np.testing.assert_allclose(root, [0.5, 0.5, 0], atol=0.02)


def test_the_map_of_a_mirrored_rung_lies_as_the_frame_does(graph, image):
    plain, mirrored = ladder(Network(graph), HEAD, (HALF, MIRRORED)).values()
    assert mirrored.name == "hypercolumn@500m"
    assert mirrored.fineness > plain.fineness
    view = View(image)
    np.testing.assert_allclose(mirrored.extract(view), plain.extract(view), atol=1e-5)


def test_the_cost_of_a_rung_is_the_size_of_its_input(graph):
    rung = ladder(Network(graph), HEAD, [HALF])[str(HALF)]
    assert rung.extraction_pixels((360, 480)) == 192 * 256
    squeezed = rung.at(Rung(0.5, 0.667))
    assert squeezed.extraction_pixels((360, 480)) == 128 * 256


def test_squeezed_maps_cover_the_frame(graph, image):
    view = View(image)
    whole, squeezed = ladder(Network(graph), HEAD, (WHOLE, Rung(1.0, 0.667))).values()
    tall, low = (rung.extract(view) for rung in (whole, squeezed))
    assert low.shape == (tall.shape[0] * 2 // 3, *tall.shape[1:])
    np.testing.assert_allclose(low, tall[: len(low)], atol=1e-5)  # from top to bottom all rows are the same
    assert whole.fingerprint() != squeezed.fingerprint()
    assert whole.fineness > squeezed.fineness


def test_mirrored_rungs_need_a_head_that_speaks(graph):
    assert list(ladder(Network(graph), HEAD, (HALF, MIRRORED), speaks=False)) == ["hypercolumn@500"]
    with pytest.raises(ConfigError, match="mirrored"):
        ladder(Network(graph), HEAD, [MIRRORED], speaks=False)


def test_fitting_keeps_an_image_of_the_right_size_as_it_is(image):
    assert (fit(image, (96, 128)) == image).all()
    assert fit(image[:1, :1], (32, 32)).shape == (32, 32, 3)


def test_each_image_gets_the_rungs_of_a_part_that_has_not_seen_it(graph, image):
    key = image_key(image)
    shared = {"classes": {"x": ("red", "blue")}, "recipes": {"train": {}, "a": {}}}
    heads = {("train", "x"): HEAD, ("a", "x"): HEAD}
    graphs = {"train": graph, "a": graph}
    seen = {"train": frozenset({key}), "a": frozenset[str]()}
    honest = HonestLadder(Backbone(graphs=graphs, heads=heads, seen=seen, **shared), "x", [HALF])
    assert honest.for_image(image) is honest.of_part("a")
    assert honest.for_image(image[:, ::-1]) is honest.of_part("train")
    fooled = HonestLadder(
        Backbone(graphs=graphs, heads=heads, seen=seen | {"a": frozenset({key})}, **shared), "x"
    )
    with pytest.raises(ModelError, match="cannot be learned from"):
        fooled.for_image(image)
    with pytest.raises(ConfigError, match="no head for 'y'"):
        HonestLadder(Backbone(graphs=graphs, heads=heads, seen=seen, **shared), "y")


def test_a_model_file_keeps_the_part_that_labels_under_the_networks_name(graph):
    backbone = Backbone(
        classes={"x": ("red", "blue")},
        graphs={"train": graph, "a": b"another"},
        heads={("train", "x"): HEAD, ("a", "x"): HEAD},
        seen={},
        recipes={},
    )
    arrays, graphs = HonestLadder(backbone, "x", [Rung(0.5, network="large")]).in_model()
    assert graphs == {"large": graph}
    assert arrays.keys() == {"large/weight", "large/bias"}


def test_the_first_network_glances(graph, image):
    small, large = Network(graph), Network(graph)
    other = Head(HEAD.weight * 2, HEAD.bias, HEAD.classes)
    bank = {**ladder(small, HEAD, [WHOLE]), **ladder(large, other, [Rung(0.5, network="large")])}
    seen = []
    small.mean_features, large.mean_features = lambda image: seen.append("small"), lambda image: 1 / 0
    glance_at(image, bank.values())
    assert seen == ["small"]


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
        HonestLadder(backbone, "x", [HALF], bare=bare).for_image(image)[str(HALF)].dimensions
        for bare in (False, True)
    ]
    assert widths == [len(HEAD.bias), HEAD.classes]


def test_the_fingerprint_tells_scales_heads_and_names_apart(graph):
    network = Network(graph)
    other = Head(HEAD.weight * 2, HEAD.bias, HEAD.classes)
    prints = {
        rung.fingerprint()
        for head in (HEAD, other)
        for rung in ladder(network, head, (HALF, WHOLE, Rung(0.5, network="large"))).values()
    }
    assert len(prints) == 6
