"""`LazyEvidence`: one image's tree and features, made when an action first needs them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anyscene.engine import kernels
from anyscene.features import Bank, Ledger, RegionFeatures, View
from anyscene.features.layers import growth_work
from anyscene.hierarchy import LAYERS, Tree, working_frame
from anyscene.model.actions import Pool
from anyscene.model.chain import PARENT_BELIEF, Chain
from anyscene.model.kernels import add_log_scores
from anyscene.model.nodes import Nodes, nodes_from_layers, nodes_of
from anyscene.model.state import State
from anyscene.painting.blends import blend_maps
from anyscene.painting.show import Detail


class LazyEvidence:
    """The engine's `model.evidence.Evidence`: grows, extracts and pools nothing that no action asked for.

    image : uint8[H, W, 3] of any size.
    ledger : what was spent so far.
    """

    layer_count = LAYERS

    def __init__(self, image: NDArray[np.uint8], bank: Bank, ledger: Ledger | None = None) -> None:
        self.ledger = Ledger() if ledger is None else ledger
        frame = working_frame(image)
        self.tree = Tree(frame)
        self._regions = RegionFeatures(bank, View(frame, self.ledger), self.tree)
        self._nodes = _ROOT

    def stop_at(self, deadline: float) -> None:
        """Stop extraction that can be stopped at a deadline, by `time.perf_counter()`."""
        self._regions.view.deadline = deadline

    def nodes(self, layer: int) -> Nodes:
        """Return the nodes with at least the layers 0 … `layer` grown."""
        while self.tree.depth <= layer:
            with self.ledger.charge(growth_work(self.tree, self.tree.depth)):
                self.tree.grow(self.tree.depth + 1)
        if self._nodes.layer_count < self.tree.depth:
            self._nodes = nodes_of(self.tree)
        return self._nodes

    def gather(
        self, feature_set: str, nodes: NDArray[np.int32], columns: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        """Return these columns of a feature set for these nodes, float32[len(nodes), len(columns)]."""
        values = np.empty((len(nodes), len(columns)), np.float32)
        known = self._nodes
        for layer in np.flatnonzero(np.bincount(known.layer[nodes])).tolist():
            features = self._regions.features(feature_set, layer)
            kernels.gather_layer(features, nodes, int(known.start[layer]), columns, values)
        return values

    def class_scores(self, feature_set: str, nodes: NDArray[np.int32], classes: int) -> NDArray[np.float32]:
        """Return the class probabilities that a set which speaks of classes gives these nodes."""
        return self.gather(feature_set, nodes, np.arange(classes, dtype=np.int32))

    def detail(self, state: State, pool: Pool) -> Detail:
        """Return what a state's maps show within its leaves."""
        of_leaves = np.zeros((len(state.leaves), pool.classes), np.float32)
        weighted = []
        for shown in state.maps.tolist():
            name, weight = pool.sets[shown], float(state.detail[shown])
            means = self.class_scores(name, state.leaves, pool.classes)
            add_log_scores(means, weight, of_leaves)
            weighted.append((weight, self._regions.log_scores(name, pool.classes)))
        scores = blend_maps(weighted)
        return self._with_colors(scores, of_leaves)

    def extract(self, chain: Chain, pool: Pool) -> None:
        """Make the maps that a chain's blend looks at; nothing is pooled."""
        for source in chain.blend_source.tolist():
            if source != PARENT_BELIEF:
                self._regions.extract(pool.sets[source])

    def blend(self, chain: Chain, pool: Pool, prior: NDArray[np.float32]) -> Detail:
        """Return what a `plain_blend` shows in the image as a whole, whose leaf then adds nothing to it."""
        weighted = []
        own = chain.blend_bias.copy()
        for source, weight in zip(chain.blend_source.tolist(), chain.blend_weight.tolist(), strict=True):
            if source == PARENT_BELIEF:
                add_log_scores(prior[None], weight, own[None])
            else:
                weighted.append((weight, self._regions.log_scores(pool.sets[source], pool.classes)))
        scores = blend_maps(weighted)
        return self._with_colors(scores, -own[None])

    def _with_colors(self, scores: NDArray[np.float32], of_leaves: NDArray[np.float32]) -> Detail:
        view = self._regions.view
        return Detail(scores, of_leaves, view.colors(scores.shape[0], scores.shape[1]), view.image)


_ROOT = nodes_from_layers([np.zeros(1, np.int32)], [np.ones(1, np.float32)])
"""What every tree is before it grows."""
