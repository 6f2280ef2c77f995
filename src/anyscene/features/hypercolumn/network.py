"""The network as labeling runs it: one ONNX graph, any input size, any head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyscene.checks import check_array
from anyscene.errors import ModelError
from anyscene.features.hypercolumn.graph_check import MOST_ROWS, OUTPUT_STRIDE, check_graph
from anyscene.features.hypercolumn.rung import NETWORK
from anyscene.features.hypercolumn.watchdog import Ended, OutOfTime, Watchdog
from anyscene.forking import never_forked
from anyscene.named_arrays import Arrays, prefixed, under

FOREIGN = "foreign"
"""Array that a model file has if a head scores other classes than the model's: how many they are."""

LARGEST_WEIGHT = 1e6
"""The largest weight of a head in a file; larger ones could only overflow."""


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
        """The head with the first `count` rows, or with those that score classes if they are more.

        What nothing reads need not be computed.
        """
        count = max(count, self.classes)
        return Head(np.ascontiguousarray(self.weight[:count]), self.bias[:count].copy(), self.classes)


def check_head(weight: NDArray[Any], bias: NDArray[Any], classes: int) -> None:
    """Raise a ValueError unless a head from a file scores this many classes."""
    check_array("the head's weight", weight, np.float32, (None, None), -LARGEST_WEIGHT, LARGEST_WEIGHT)
    check_array("the head's bias", bias, np.float32, (len(weight),), -LARGEST_WEIGHT, LARGEST_WEIGHT)
    if not 1 <= classes <= len(weight) <= MOST_ROWS or not weight.shape[1]:
        raise ValueError(f"a head of {len(weight)} rows cannot score {classes} classes")


class Network:
    """An ONNX Runtime session on the graph; deterministic, and safe to share between threads.

    graph: the serialised ONNX model, see `learning.backbone.export`; `graph_check` says what it may do.
    threads: CPU threads it may use.
    """

    def __init__(self, graph: bytes, threads: int = 1) -> None:
        try:
            self._width = check_graph(graph)
        except ValueError as error:
            raise ModelError(
                f"the ONNX graph is not one of anyscene's networks: {error}; get the file anew"
            ) from error
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # With a pattern, every input size keeps a block of memory of its own, which is cold whenever the size
        # changes.
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

    def scores(
        self, image: NDArray[np.uint8], head: Head, deadline: float | None = None
    ) -> NDArray[np.float32]:
        """Scores float32[h / 4, w / 4, rows] of an image uint8[h, w, 3] whose sides are multiples of 32.

        deadline: the `time.perf_counter()` at which the run is ended and OutOfTime raised.
        """
        if head.weight.shape[1] != self._width:
            raise ModelError(
                f"the network gives {self._width} numbers a cell, its head weighs {head.weight.shape[1]}; "
                "get the file anew"
            )
        feed: dict[str, NDArray[Any]] = {
            "image": image,
            "head": head.weight[:, :, None, None],
            "bias": head.bias,
        }
        try:
            scores = np.asarray(self._run(feed, deadline))
        except Ended:
            raise
        except Exception as error:  # ONNX Runtime's own, of classes that it does not name publicly
            raise ModelError(f"the network cannot be run ({error}); get the file anew") from error
        shape = (image.shape[0] // OUTPUT_STRIDE, image.shape[1] // OUTPUT_STRIDE, len(head.bias))
        # Kernels index by the shape and compare the numbers. The sum of squares is the quickest way to find
        # one that is not finite.
        if scores.dtype != np.float32 or scores.shape != shape or not np.isfinite(np.vdot(scores, scores)):
            raise ModelError(
                f"the network gives {scores.dtype}{list(scores.shape)} and not finite float32{list(shape)}; "
                "get the file anew"
            )
        return scores

    def end_runs(self, raises: type[Ended] = OutOfTime) -> None:
        """End all runs under way that have a deadline, however far it is. raises : what they raise."""
        self._watchdog.end_all(raises)

    def mean_features(self, image: NDArray[np.uint8]) -> NDArray[np.float32]:
        """The mean of each of the network's features, float32[width], over an image as for `scores`."""
        every = Head(np.eye(self._width, dtype=np.float32), np.zeros(self._width, np.float32), self._width)
        return np.asarray(self.scores(image, every).mean(axis=(0, 1)))

    def _run(self, feed: dict[str, NDArray[Any]], deadline: float | None) -> object:
        with never_forked():  # its memory has a lock, and would stay locked in the child
            if deadline is None:
                return self._session.run(["scores"], feed)[0]
            with self._watchdog.watching(deadline) as options:
                return self._session.run(["scores"], feed, options)[0]


def head_to_arrays(head: Head, speaks: bool, network: str = NETWORK) -> dict[str, NDArray[Any]]:
    """What a model file keeps of a network's head."""
    arrays: dict[str, NDArray[Any]] = {"weight": head.weight, "bias": head.bias}
    return prefixed(network, arrays if speaks else {**arrays, FOREIGN: np.array([head.classes])})


def head_from_arrays(arrays: Arrays, classes: int, network: str = NETWORK) -> tuple[Head, bool]:
    """A network's head in a model file, and whether it scores the model's classes; so many are those."""
    own = under(network, arrays)
    weight, bias = own["weight"], own["bias"]
    speaks = FOREIGN not in own
    if not speaks:
        check_array("the number of foreign classes", own[FOREIGN], np.int64, (1,))
        classes = int(own[FOREIGN][0])
    check_head(weight, bias, classes)
    return Head(weight, bias, classes), speaks


def glance_width(arrays: Arrays, networks: Sequence[str]) -> int | None:
    """How many features a cell gets from the first of a model's networks, which glances; None without one."""
    weight = arrays.get(f"{networks[0]}/weight") if networks else None
    return None if weight is None else weight.shape[-1]
