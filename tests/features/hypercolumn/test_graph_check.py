"""What a network's graph may do, judged without running it."""

import pytest

from anyscene.features.hypercolumn.backbone import read_backbone, shipped_backbone
from anyscene.features.hypercolumn.graph_check import check_graph
from anyscene.features.hypercolumn.onnx_reader import read_graph
from tests.hostile import protobuf as pb

CAST = pb.field(5, pb.field(1, "to") + pb.field(3, 1) + pb.field(20, 2))
NUMBERS = pb.node("Cast", ["image"], "numbers", CAST)


@pytest.fixture(scope="module")
def graph():
    return read_backbone(shipped_backbone("camvid")).graphs["train"]


def test_a_network_of_ours_passes(graph):
    assert check_graph(graph) == 96
    assert {node.kind for node in read_graph(graph).nodes} >= {"Conv", "Resize"}


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([], "scores have another shape"),
        ([NUMBERS, pb.node("Relu", ["numbers"], "scores")], "scores have another shape"),
        ([NUMBERS, pb.node("Tile", ["numbers"], "scores")], "none of ours has"),
        ([pb.node("Relu", ["nothing"], "scores")], "lacks something"),
        ([NUMBERS, NUMBERS], "none of ours has"),
        ([pb.floats("x", [4], [1.0])], "size of a constant"),
        ([pb.floats("x", [1], [1.0]), pb.floats("x", [1], [1.0])], "same name"),
        ([pb.floats("image", [1], [1.0])], "same name"),
    ],
)
def test_a_graph_of_others_is_refused(parts, words):
    with pytest.raises(ValueError, match=words):
        check_graph(pb.model(*parts))


def test_a_graph_that_would_take_all_memory_is_refused():
    wide = pb.floats("wide", [5000, 1, 1, 1], [0.0] * 5000)
    with pytest.raises(ValueError, match="too much memory"):
        check_graph(pb.model(NUMBERS, wide, pb.node("Add", ["numbers", "wide"], "sum")))


@pytest.mark.parametrize("more", [pb.field(25, b""), pb.field(7, b""), pb.field(20, b""), b"\xff" * 20])
def test_what_is_added_to_a_graph_is_noticed(graph, more):
    with pytest.raises(ValueError, match=r"it has|'graph'"):
        check_graph(graph + more)


def test_a_graph_cut_anywhere_is_refused(graph):
    for end in range(0, len(graph), len(graph) // 40):
        with pytest.raises(ValueError, match=r"."):
            check_graph(graph[:end])
