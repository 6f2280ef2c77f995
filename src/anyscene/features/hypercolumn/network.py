"""The network as labeling runs it: one ONNX graph, any input size, any head."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.errors import ModelError
from anyscene.features.hypercolumn.watchdog import Watchdog

STRIDE = 32
"""Sides of what the network reads are multiples of this; its scores are at a quarter of them."""

OUTPUT_STRIDE = 4


@dataclass(frozen=True, eq=False)
class Head:
    """What to read off the network's features: one linear score a row.

    weight: float32[rows, width]. bias: float32[rows]. classes: how many of the first rows are class scores;
    the rest is an embedding.
    """

    weight: NDArray[np.float32]
    bias: NDArray[np.float32]
    classes: int

    def first_rows(self, count: int) -> Head:
        """The head with so many rows, but all that score classes: what nothing reads need not be computed."""
        count = max(count, self.classes)
        return Head(np.ascontiguousarray(self.weight[:count]), self.bias[:count].copy(), self.classes)


class Network:
    """An ONNX Runtime session on the graph; deterministic, and safe to share between threads.

    graph: the serialised ONNX model, see `anyscene.learning.backbone.export`. threads: CPU threads it may
    use.
    """

    def __init__(self, graph: bytes, threads: int = 1) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # With a pattern, every input size keeps a block of memory of its own, which is cold whenever the size
        # changes: a climb through six sizes took 18 % longer.
        options.enable_mem_pattern = False
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime raises classes of its own, one for each kind of damage
            raise ModelError(
                f"the network's ONNX graph cannot be loaded ({error}); get the file anew"
            ) from error
        self.graph = graph
        self._watchdog = Watchdog()
        names = {node.name for node in self._session.get_inputs()}
        if names != {"image", "head", "bias"}:
            raise ModelError(
                f"the ONNX graph is not one of anyscene's networks: its inputs are {sorted(names)}"
            )

    def scores(
        self, image: NDArray[np.uint8], head: Head, deadline: float | None = None
    ) -> NDArray[np.float32]:
        """Scores float32[h / 4, w / 4, rows] of an image uint8[h, w, 3] whose sides are multiples of 32.

        deadline: OutOfTime is raised if the run has not ended when `time.perf_counter()` is this.
        """
        feed = {"image": image, "head": head.weight[:, :, None, None], "bias": head.bias}
        if deadline is None:
            return np.asarray(self._session.run(["scores"], feed)[0])
        with self._watchdog.watching(deadline) as options:
            return np.asarray(self._session.run(["scores"], feed, options)[0])


SQUEEZED_ASPECT = 3 / 4
"""Height over width of the frames that squeezing was measured with."""


def input_size(height: int, width: int, scale: float, squeeze: float = 1.0) -> tuple[int, int]:
    """The network's input for a frame at a scale: the nearest multiples of 32, as (height, width).

    squeeze : the share of its height that a frame of 4:3 keeps; 1 keeps the aspect. A wider frame, which is
    lower already, keeps more.
    """
    kept = min(height, squeeze * max(height, width * SQUEEZED_ASPECT))
    return _multiple(kept * scale), _multiple(width * scale)


def _multiple(side: float) -> int:
    return max(1, round(side / STRIDE)) * STRIDE
