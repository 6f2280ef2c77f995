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
from anyscene.hierarchy import LAYERS, Tree
from anyscene.learning.extraction import describe_scene
from anyscene.metrics import Counts
from anyscene.model.evidence import ArrayEvidence
from anyscene.model.loss import Truth, truth_from_counts
from anyscene.model.shown import Shown


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

    def confusion(self, seen: Shown) -> Counts:
        """The confusion matrix of the labels that a state shows."""
        return count_by_region(self.counts[seen.nodes], seen.labels)

    def full_evidence(self, bank: Bank) -> ImageEvidence:
        """What full-cost baselines see: all sets of the bank that the features are of, on all layers."""
        starts = self.evidence.tree.start[1:-1]
        pieces = {name: np.split(self.evidence.features[name], starts) for name in bank}
        tables = [{name: pieces[name][layer] for name in bank} for layer in range(LAYERS)]
        return assemble(self.frame, self.tree, bank, tables, self.counts.shape[1])


def prepare_image(scene: Scene, bank: Bank, classes: int, cache: FeatureCache) -> ScoredImage:
    """Grow an image's tree, compute its features (or find them in the cache) and count its truth."""
    found = describe_scene(scene, bank, classes, cache)
    evidence = ArrayEvidence(found.nodes, found.features)
    return ScoredImage(
        scene, found.frame, found.tree, evidence, found.counts, truth_from_counts(found.counts)
    )
