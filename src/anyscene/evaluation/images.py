"""Images that systems are scored on: the tree, its features and the truth of every region."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.data import Scene
from anyscene.evaluation.baselines.evidence import ImageEvidence, assemble
from anyscene.evaluation.traces import count_by_region
from anyscene.features import Bank
from anyscene.features.cache import FeatureCache
from anyscene.hierarchy import LAYERS, Tree, working_frame
from anyscene.learning.extraction import count_truth
from anyscene.metrics import Counts
from anyscene.model.detail import View
from anyscene.model.evidence import ArrayEvidence
from anyscene.model.loss import Truth, truth_from_counts
from anyscene.model.nodes import nodes_from_layers


@dataclass(frozen=True, eq=False)
class ScoredImage:
    """One image with its truth, whole tree and features.

    counts : int64[n, C], known pixels of each node by class.
    """

    scene: Scene
    frame: NDArray[np.uint8]
    tree: Tree
    evidence: ArrayEvidence
    counts: NDArray[np.int64]
    truth: Truth

    def confusion(self, seen: View) -> Counts:
        """The confusion matrix of the labels that a state shows."""
        return count_by_region(self.counts[seen.nodes], seen.labels)

    def full_evidence(self, bank: Bank) -> ImageEvidence:
        """What full-cost baselines see: all sets of the bank that the features are of, on all layers."""
        starts = self.evidence.tree.start[1:-1]
        pieces = {name: np.split(self.evidence.features[name], starts) for name in bank}
        tables = [{name: pieces[name][layer] for name in bank} for layer in range(LAYERS)]
        return assemble(self.frame, self.tree, bank, tables, self.counts.shape[1])


def prepare_image(scene: Scene, bank: Bank, classes: int, cache: FeatureCache) -> ScoredImage:
    """Grow an image's tree, take its features from the cache or put them there, count its truth."""
    assert scene.truth is not None
    frame = working_frame(scene.image)
    tree = Tree(frame)
    tree.grow(LAYERS)
    features = cache.features(frame, tree, bank, tuple(bank))
    nodes = nodes_from_layers(tree.parents, [area.astype(np.float32) for area in tree.areas])
    counts = count_truth(tree, scene.truth, classes)
    return ScoredImage(scene, frame, tree, ArrayEvidence(nodes, features), counts, truth_from_counts(counts))
