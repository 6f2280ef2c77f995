"""From scenes to what learning holds of them: trees, region features, truth by region."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.data import Scene
from anyscene.errors import DataError
from anyscene.features import Bank
from anyscene.features.cache import FeatureCache
from anyscene.hierarchy import LAYERS, Tree, working_frame
from anyscene.hierarchy.totals import totals_of_layers
from anyscene.learning.corpus import Example
from anyscene.learning.learners.binning import Bins, fit_bins
from anyscene.model.evidence import ArrayEvidence
from anyscene.model.loss import Truth, truth_from_counts
from anyscene.model.nodes import Nodes, nodes_of


@dataclass(frozen=True)
class Extract:
    """All that learning needs of one scene.

    features : one float32[n, D] for each feature set, a row for each node.
    """

    id: str
    tree: Nodes
    truth: Truth
    features: dict[str, NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class DescribedScene:
    """A labelled scene with its whole tree.

    frame : uint8[h, w, 3], the working frame. counts : int64[n, C], labelled pixels of each node and class.
    features : one float32[n, D] for each feature set, a row for each node.
    """

    frame: NDArray[np.uint8]
    tree: Tree
    nodes: Nodes
    counts: NDArray[np.int64]
    features: dict[str, NDArray[np.float32]]


def describe_scene(scene: Scene, bank: Bank, classes: int, cache: FeatureCache) -> DescribedScene:
    """Grow the whole tree of a scene and describe all its regions by every set of the bank."""
    if scene.truth is None:
        raise DataError(f"scene '{scene.id}' has no truth; leave it out")
    frame = working_frame(scene.image)
    tree = Tree(frame)
    tree.grow(LAYERS)
    features = cache.features(frame, tree, bank, tuple(bank))
    return DescribedScene(frame, tree, nodes_of(tree), count_truth(tree, scene.truth, classes), features)


def extract(scene: Scene, bank: Bank, classes: int, cache: FeatureCache) -> Extract:
    """Describe a scene and keep what learning needs of it."""
    described = describe_scene(scene, bank, classes, cache)
    return Extract(scene.id, described.nodes, truth_from_counts(described.counts), described.features)


def fit_corpus_bins(extracts: Sequence[Extract], rows: int = 60_000) -> dict[str, Bins]:
    """Cut every column by a sample of the regions of all images."""
    total = sum(extract.tree.count for extract in extracts)
    every = max(1, total // rows)
    # Another start in each image: region numbers go with where a region lies.
    return {
        name: fit_bins(np.concatenate([e.features[name][i % every :: every] for i, e in enumerate(extracts)]))
        for name in extracts[0].features
    }


def to_example(extract: Extract, bins: Mapping[str, Bins], speaking: Collection[str]) -> Example:
    """Bin the features of a scene; they are held in memory from here on.

    speaking : sets whose class probabilities are kept beside the bins, as they are.
    """
    binned = {name: bins[name].apply(np.asarray(extract.features[name])) for name in bins}
    classes = extract.truth.mass.shape[1]
    scores = {name: extract.features[name][:, :classes].astype(np.float16) for name in speaking}
    return Example(extract.id, ArrayEvidence(extract.tree, binned, scores), extract.truth)


def count_truth(tree: Tree, truth: NDArray[np.int16], classes: int) -> NDArray[np.int64]:
    """Labelled pixels of each node and class, int64[n, C]; the truth may be larger than the tree's frame."""
    height, width = tree.size
    rows = np.arange(truth.shape[0]) * height // truth.shape[0] // tree.stride
    columns = np.arange(truth.shape[1]) * width // truth.shape[1] // tree.stride
    regions = tree.pixels[rows[:, None], columns]
    labelled = truth >= 0
    flat = regions[labelled].astype(np.int64) * classes + truth[labelled]
    finest = np.bincount(flat, minlength=len(tree.areas[-1]) * classes).reshape(-1, classes)
    return np.concatenate(totals_of_layers(finest, tree.parents))


def branching(trees: Sequence[Nodes]) -> NDArray[np.float64]:
    """Mean children of a region of each layer, float64[L]; 0 for the finest."""
    sizes = np.array([np.diff(tree.start) for tree in trees]).sum(axis=0)
    return np.append(sizes[1:] / sizes[:-1], 0.0)
