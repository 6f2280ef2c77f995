"""What a state shows: a label for each leaf, or, with a network's maps in hand, detail within leaves.

A leaf's belief says what is true of it as a whole. Maps of class probabilities say where in it:
q(x) ∝ q(leaf)·Π_j (s_j(x) / s_j(leaf))^w_j, with the weights of the latest blend. So a map pays at once,
whatever the tree is. A split hands its children the belief that the leaf had there, and updates correct what
the maps say of a region. `painting/` shows this in pixels; here, where learning compares it with the truth,
the finest regions stand in for pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anyscene.model import kernels
from anyscene.model.actions import Pool, detailed
from anyscene.model.evidence import ArrayEvidence
from anyscene.model.nodes import Nodes
from anyscene.model.state import State


@dataclass(frozen=True)
class Shown:
    """Nodes that tile the image, int32[N], and the log-beliefs that hold in each, float32[N, C]."""

    nodes: NDArray[np.int32]
    log_belief: NDArray[np.float32]

    @cached_property
    def labels(self) -> NDArray[np.intp]:
        """Most likely class of each node, int64[N]."""
        labels: NDArray[np.intp] = np.argmax(self.log_belief, axis=1)
        return labels


def shown_by(state: State, pool: Pool, evidence: ArrayEvidence) -> Shown:
    """What a state shows of an image whose whole tree is in hand."""
    if not len(state.maps):
        return Shown(state.leaves, state.log_belief)
    atoms, rows = finest_regions(evidence.tree, state.leaves)
    every, leaves = np.arange(len(atoms)), state.leaves[rows]
    belief = detailed(state.belief[rows], every, state, atoms, leaves, pool, evidence)
    return Shown(atoms, np.log(belief))


def finest_regions(tree: Nodes, leaves: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The nodes of the finest layer, and the row of the leaf that each lies in, int32[n] each."""
    rows = kernels.leaf_of_regions(leaves, tree.start, tree.child_start, tree.child)
    return np.arange(tree.start[-2], tree.start[-1], dtype=np.int32), rows
