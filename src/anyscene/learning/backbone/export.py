"""From trained weights to an ONNX graph that needs neither torch nor a given input size.

The graph takes an image as it is decoded and a head as a second input, so that one graph serves every data
set: `image` uint8[H, W, 3] (sides multiples of 32), `head` float32[K, WIDTH, 1, 1], `bias` float32[K], giving
`scores` float32[H/4, W/4, K]. Weights are stored as fp16 and widened by ONNX Runtime once, on load.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from anyscene.learning.backbone.appearance import CHANNEL_MEAN, CHANNEL_SCALE
from anyscene.learning.backbone.network import TAPS, WIDTH, Bottleneck, Mix, SceneNetwork

OPSET = 17


def export_graph(network: SceneNetwork) -> bytes:
    """Return the network, without its heads, as a serialised ONNX model."""
    graph = _Graph()
    x = graph.input_image()
    x = graph.clip(graph.convolve(x, network.stem))
    taps = []
    for index, blocks in enumerate(network.stages):
        for block in cast(nn.ModuleList, blocks):
            x = graph.bottleneck(x, cast(Bottleneck, block))
        if index in TAPS:
            taps.append(x)
    laterals = [
        graph.convolve(tap, cast(nn.Conv2d, lateral))
        for tap, lateral in zip(taps, network.lateral, strict=True)
    ]
    y = graph.mix(laterals[-1], cast(Mix, network.mix[-1]))
    for level in (2, 1, 0):
        y = graph.node("Add", [graph.enlarge(y), laterals[level]])
        y = graph.mix(y, cast(Mix, network.mix[level]))
    scores = graph.node("Conv", [y, "head", "bias"], kernel_shape=[1, 1])
    first = graph.node("Squeeze", [scores, graph.constant("axis", np.array([0], np.int64))])
    graph.node("Transpose", [first], output="scores", perm=[1, 2, 0])
    return graph.serialise()


class _Graph:
    """A list of nodes under construction; every method adds some and returns the name of what they yield."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def node(self, kind: str, inputs: list[str], output: str | None = None, **attributes: object) -> str:
        name = output or f"{kind.lower()}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        self._constants.setdefault(name, numpy_helper.from_array(value, name))
        return name

    def weights(self, tensor: Tensor) -> str:
        stored = self.constant(f"weights_{len(self._constants)}", tensor.detach().numpy().astype(np.float16))
        return self.node("Cast", [stored], to=TensorProto.FLOAT)

    def input_image(self) -> str:
        planes = self.node("Transpose", ["image"], perm=[2, 0, 1])
        batch = self.node("Unsqueeze", [planes, self.constant("axis", np.array([0], np.int64))])
        numbers = self.node("Cast", [batch], to=TensorProto.FLOAT)
        centred = self.node("Sub", [numbers, self.constant("mean", np.array(CHANNEL_MEAN, np.float32))])
        return self.node("Mul", [centred, self.constant("scale", np.array(1 / CHANNEL_SCALE, np.float32))])

    def convolve(self, x: str, layer: nn.Conv2d) -> str:
        pad = int(layer.padding[0])
        return self.node(
            "Conv",
            [x, self.weights(layer.weight), self.weights(cast(Tensor, layer.bias))],
            kernel_shape=list(layer.kernel_size),
            strides=list(layer.stride),
            pads=[pad] * 4,
            group=layer.groups,
        )

    def clip(self, x: str) -> str:
        low, high = (self.constant(f"clip_{value}", np.array(value, np.float32)) for value in (0, 6))
        return self.node("Clip", [x, low, high])

    def bottleneck(self, x: str, block: Bottleneck) -> str:
        y = x if block.expand is None else self.clip(self.convolve(x, block.expand))
        y = self.convolve(self.clip(self.convolve(y, block.depthwise)), block.project)
        return self.node("Add", [x, y]) if block.residual else y

    def mix(self, x: str, mix: Mix) -> str:
        return self.node("Relu", [self.convolve(self.convolve(x, mix.depthwise), mix.pointwise)])

    def enlarge(self, x: str) -> str:
        scales = self.constant("twice", np.array([1, 1, 2, 2], np.float32))
        return self.node(
            "Resize", [x, "", scales], mode="linear", coordinate_transformation_mode="half_pixel"
        )

    def serialise(self) -> bytes:
        inputs = [
            helper.make_tensor_value_info("image", TensorProto.UINT8, ["height", "width", 3]),
            helper.make_tensor_value_info("head", TensorProto.FLOAT, ["channels", WIDTH, 1, 1]),
            helper.make_tensor_value_info("bias", TensorProto.FLOAT, ["channels"]),
        ]
        outputs = [
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["rows", "columns", "channels"])
        ]
        graph = helper.make_graph(
            self._nodes, "scene_network", inputs, outputs, list(self._constants.values())
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        onnx.checker.check_model(model)
        return cast(bytes, model.SerializeToString())
