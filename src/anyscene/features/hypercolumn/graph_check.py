"""What a network's graph may do: known operators only, within bounds of memory and time.

A graph from a stranger is walked with shapes alone before ONNX Runtime sees it. A network with a new operator
needs one more function in `OPERATORS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.features.hypercolumn.onnx_reader import Graph, Node, read_graph

Shape = tuple[int, ...]

SIDES = (384, 480)
"""Height and width of the image that shapes are worked out for."""

MOST_ROWS = 1024
"""Rows that a head may have: class scores and an embedding."""

OUTPUT_STRIDE = 4
"""Pixels of the image to a cell of the scores, along each side."""

MOST_NUMBERS = 1000
"""Numbers that all operations together may make for each pixel; they may be in memory at the same time."""

MOST_PRODUCTS = 100_000
"""Multiplications for each pixel; more would take a second for an image of the working frame."""

MOST_NODES = 2000


class _Walk:
    """The shapes of all that was made so far. products : how many multiplications it took."""

    def __init__(self, graph: Graph) -> None:
        self.constants = graph.constants
        self.shapes: dict[str, Shape] = {name: array.shape for name, array in graph.constants.items()}
        self.shapes |= {"image": (*SIDES, 3), "bias": (MOST_ROWS,)}
        self.width = 0
        self.products = 0

    def shape(self, node: Node, place: int = 0) -> Shape:
        """The shape of an input."""
        return self.shapes[node.inputs[place]]

    def constant(self, node: Node, place: int) -> NDArray[Any]:
        """The values of an input that is a constant."""
        return self.constants[node.inputs[place]]


def check_graph(data: bytes) -> int:
    """Return how many numbers a row of the network's head weighs; a ValueError says what is not ours."""
    try:
        graph = read_graph(data)
    except (TypeError, UnicodeError) as error:  # a number where a name should be, or the reverse
        raise ValueError("it is damaged") from error
    if set(graph.inputs) != {"image", "head", "bias"} or graph.outputs != ("scores",):
        raise ValueError("its inputs and outputs are others")
    if len(graph.nodes) > MOST_NODES:
        raise ValueError(f"it has {len(graph.nodes)} operations")
    walk, pixels, numbers = _Walk(graph), prod(SIDES), 0
    for node in graph.nodes:
        if node.kind not in OPERATORS or len(node.outputs) != 1 or node.outputs[0] in walk.shapes:
            raise ValueError(f"it has an operation {node.kind[:40]!a} that none of ours has")
        try:
            shape = OPERATORS[node.kind](node, walk)
        except (KeyError, IndexError, TypeError) as error:
            raise ValueError(f"an operation {node.kind} lacks something that it needs") from error
        numbers += prod(shape)
        if numbers > MOST_NUMBERS * pixels or walk.products > MOST_PRODUCTS * pixels:
            raise ValueError("it would take too much memory or time")
        walk.shapes[node.outputs[0]] = shape
    if walk.shapes.get("scores") != (SIDES[0] // OUTPUT_STRIDE, SIDES[1] // OUTPUT_STRIDE, MOST_ROWS):
        raise ValueError("its scores have another shape")
    return walk.width


def _same(node: Node, walk: _Walk) -> Shape:
    _expect(node, ())
    return walk.shape(node)


def _clip(node: Node, walk: _Walk) -> Shape:
    _expect(node, ())
    if any(walk.constant(node, place).shape for place in (1, 2)):
        raise ValueError("it clips by something other than two numbers")
    return walk.shape(node)


def _cast(node: Node, walk: _Walk) -> Shape:
    _expect(node, ("to",))
    if node.attributes["to"] != 1:
        raise ValueError("it computes with numbers that are not of single precision")
    return walk.shape(node)


def _broadcast(node: Node, walk: _Walk) -> Shape:
    _expect(node, ())
    return np.broadcast_shapes(walk.shape(node, 0), walk.shape(node, 1))


def _transpose(node: Node, walk: _Walk) -> Shape:
    _expect(node, ("perm",))
    shape, order = walk.shape(node), node.attributes["perm"]
    if sorted(order) != list(range(len(shape))):
        raise ValueError("it turns axes that are not there")
    return tuple(shape[axis] for axis in order)


def _unsqueeze(node: Node, walk: _Walk) -> Shape:
    _expect_first_axis(node, walk)
    return (1, *walk.shape(node))


def _squeeze(node: Node, walk: _Walk) -> Shape:
    _expect_first_axis(node, walk)
    shape = walk.shape(node)
    if shape[0] != 1:
        raise ValueError("it drops an axis that matters")
    return shape[1:]


def _resize(node: Node, walk: _Walk) -> Shape:
    if node.attributes != {"mode": b"linear", "coordinate_transformation_mode": b"half_pixel"}:
        raise ValueError("it enlarges in another way than ours")
    scales = walk.constant(node, 2)
    shape = walk.shape(node)
    if len(node.inputs) != 3 or node.inputs[1] or len(shape) != 4 or scales.tolist() != [1, 1, 2, 2]:
        raise ValueError("it enlarges by another factor than two")
    return (*shape[:2], 2 * shape[2], 2 * shape[3])


def _convolve(node: Node, walk: _Walk) -> Shape:
    _expect(node, ("group", "kernel_shape", "pads", "strides"))
    x = walk.shape(node)
    if node.inputs[1] == "head" and len(x) == 4:
        walk.width = x[1]
        walk.shapes["head"] = (MOST_ROWS, x[1], 1, 1)
    weight, bias = walk.shape(node, 1), walk.shape(node, 2)
    group = node.attributes.get("group", 1)
    strides, pads = node.attributes.get("strides", (1, 1)), node.attributes.get("pads", (0,) * 4)
    if (
        len(x) != 4
        or len(weight) != 4
        or bias != (weight[0],)
        or weight[2:] != node.attributes["kernel_shape"]
    ):
        raise ValueError("the parts of a convolution do not fit each other")
    if group < 1 or weight[0] % group or x[1] != weight[1] * group:
        raise ValueError("the channels of a convolution do not fit each other")
    if not (len(strides) == 2 and len(pads) == 4 and min(strides) > 0 and 0 <= min(pads) <= max(pads) < 32):
        raise ValueError("a convolution has odd steps or margins")
    sides = [
        (x[2 + axis] + pads[axis] + pads[2 + axis] - weight[2 + axis]) // strides[axis] + 1 for axis in (0, 1)
    ]
    if min(*sides, *weight) < 1:
        raise ValueError("a convolution leaves nothing")
    walk.products += prod((x[0], weight[0], *sides)) * prod(weight[1:])
    return (x[0], weight[0], *sides)


OPERATORS: dict[str, Callable[[Node, _Walk], Shape]] = {
    "Add": _broadcast,
    "Cast": _cast,
    "Clip": _clip,
    "Conv": _convolve,
    "Mul": _broadcast,
    "Relu": _same,
    "Resize": _resize,
    "Squeeze": _squeeze,
    "Sub": _broadcast,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
"""What our networks do, and the shape that each operation gives."""


def _expect(node: Node, attributes: Sequence[str]) -> None:
    if not node.attributes.keys() <= set(attributes):
        raise ValueError(f"an operation {node.kind} has settings that none of ours has")


def _expect_first_axis(node: Node, walk: _Walk) -> None:
    _expect(node, ())
    if walk.constant(node, 1).tolist() != [0]:
        raise ValueError("it adds or drops another axis than the first")
