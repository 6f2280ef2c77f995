"""What a model may look at in one image: its tree and its region features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from anyscene.model.nodes import Nodes

Integers = NDArray[np.int32]


class Evidence(Protocol):
    """The view of one image that transitions need; the engine's is lazy, learning's is made of arrays."""

    @property
    def layer_count(self) -> int:
        """Layers of the full tree, grown or not."""
        ...

    def nodes(self, layer: int) -> Nodes:
        """Return the nodes with at least the layers 0 … `layer` grown."""
        ...

    def gather(self, feature_set: str, nodes: Integers, columns: Integers) -> NDArray[np.float32]:
        """Return these columns of a feature set for these nodes, float32[len(nodes), len(columns)]."""
        ...

    def class_scores(self, feature_set: str, nodes: Integers, classes: int) -> NDArray[np.float32]:
        """Return the class probabilities that a set which speaks of classes gives these nodes."""
        ...


@dataclass(frozen=True)
class ArrayEvidence:
    """Evidence whose whole tree and features are in memory (or memory-mapped).

    features : one float32[n, D] a feature set, a row for each node; learning holds bins, uint8[n, D].
    scores : of the sets that speak of classes, their class probabilities where `features` holds bins.
    """

    tree: Nodes
    features: Mapping[str, NDArray[Any]]
    scores: Mapping[str, NDArray[np.floating[Any]]] = field(default_factory=dict)

    @property
    def layer_count(self) -> int:
        """Layers of the full tree."""
        return self.tree.layer_count

    def nodes(self, layer: int) -> Nodes:
        """Return the whole tree: all of it is in hand."""
        return self.tree

    def gather(self, feature_set: str, nodes: Integers, columns: Integers) -> NDArray[np.float32]:
        """Return these columns of a feature set for these nodes."""
        return self.features[feature_set][nodes[:, None], columns].astype(np.float32)

    def class_scores(self, feature_set: str, nodes: Integers, classes: int) -> NDArray[np.float32]:
        """Return the class probabilities that a set gives these nodes."""
        columns = self.scores.get(feature_set, self.features[feature_set])
        return columns[nodes, :classes].astype(np.float32)
