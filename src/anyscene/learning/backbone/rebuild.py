"""The network in torch again from its exported graph: to compare the two, or to train it further."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper

from anyscene.features.hypercolumn.network import Head
from anyscene.learning.backbone.appearance import CHANNEL_MEAN, CHANNEL_SCALE
from anyscene.learning.backbone.family import shape_by_widths
from anyscene.learning.backbone.network import SceneNetwork, shape_of


def torch_scores(
    graph: bytes, head: Head, layout: torch.memory_format = torch.contiguous_format
) -> Callable[[NDArray[np.uint8]], NDArray[np.float32]]:
    """A function from images uint8[H, W, 3] to scores float32[H/4, W/4, K], computed by torch.

    The weights are the graph's own, so that any difference is one of arithmetic. layout: torch's usual one,
    or `torch.channels_last`, in which it is quicker.
    """
    weights = weights_of(graph, {"scores": head})
    network = SceneNetwork({"scores": len(head.bias)}, shape=shape_of(weights))
    network.load_state_dict(weights)
    network.eval().to(memory_format=layout)

    def scores(image: NDArray[np.uint8]) -> NDArray[np.float32]:
        planes = (torch.from_numpy(image).permute(2, 0, 1)[None].float() - CHANNEL_MEAN) / CHANNEL_SCALE
        with torch.inference_mode():
            result = network(planes.contiguous(memory_format=layout), "scores")
        return np.ascontiguousarray(result[0].permute(1, 2, 0).numpy())

    return scores


def weights_of(graph: bytes, heads: Mapping[str, Head]) -> dict[str, torch.Tensor]:
    """The state of a `SceneNetwork` with these heads: what `export_graph` put into the graph."""
    stored = [
        torch.from_numpy(numpy_helper.to_array(tensor).astype(np.float32))
        for tensor in onnx.load_from_string(graph).graph.initializer
        if tensor.name.startswith("weights_")
    ]
    names = SceneNetwork({}, shape=shape_by_widths([len(tensor) for tensor in stored[::2]])).state_dict()
    convolutions = [name.removesuffix(".weight") for name in names if name.endswith(".weight")]
    state: dict[str, torch.Tensor] = {}
    pairs = zip(stored[::2], stored[1::2], strict=True)
    for name, (weight, bias) in zip(_in_export_order(convolutions), pairs, strict=True):
        state |= {f"{name}.weight": weight, f"{name}.bias": bias}
    for name, head in heads.items():
        state[f"heads.{name}.weight"] = torch.from_numpy(head.weight)[:, :, None, None]
        state[f"heads.{name}.bias"] = torch.from_numpy(head.bias)
    return state


def _in_export_order(names: list[str]) -> list[str]:
    """Sort as `export_graph` visits them: backbone, laterals, then the decoder from coarse to fine."""
    mixes = [name for name in names if name.startswith("mix")]
    levels = sorted({name.split(".")[1] for name in mixes}, reverse=True)
    ordered = [name for level in levels for name in mixes if name.split(".")[1] == level]
    return [name for name in names if not name.startswith("mix")] + ordered
