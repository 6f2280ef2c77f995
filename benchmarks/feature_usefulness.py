"""What the feature sets are good for: each alone, and all together, in the hands of a standard classifier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

import anyscene
from anyscene.data.scenes import SceneList
from anyscene.features import RegionFeatures, View
from anyscene.features.sets import PAPER_SETS
from anyscene.features.training import CrossFit, fit_bank, labeled_frames
from anyscene.hierarchy import LAYERS, Tree
from anyscene.threads import one_thread
from benchmarks.figures import Bar, Figure, Request

TRAINING_ROWS = 30_000
CLASSIFIER = {
    "max_iter": 80,
    "learning_rate": 0.1,
    "max_leaf_nodes": 15,
    "max_features": 0.1,
    "l2_regularization": 5.0,
    "min_samples_leaf": 60,
    "early_stopping": False,
    "random_state": 0,
}
"""The limits on features, leaves and weights keep the classifier from leaning on semantics alone; they were
chosen on the halves of CamVid's train (docs/research/2026-11-15-feature-sets.md)."""


@dataclass(frozen=True, eq=False)
class Regions:
    """Finest regions of some scenes.

    features: for each set, float32[n, dimensions]. counts: int64[n, classes], pixels of each class.
    """

    features: dict[str, NDArray[np.float32]]
    counts: NDArray[np.int64]


def measure_usefulness(request: Request) -> Iterator[Figure]:
    """Learn on finest regions of train, with out-of-fold scores, and count pixels that are right on val."""
    together, losers = "all eight sets, pixel accuracy on val", "sets that do not beat the prior on val"
    if request.data is None:
        reason = "needs --data with the splits train and val"
        yield Figure(together, Bar("at least", 0.78), None, skipped=reason)
        yield Figure(losers, Bar("at most", 0), None, skipped=reason)
        return
    dataset = anyscene.data.open(request.data)
    names = PAPER_SETS
    rng = np.random.default_rng(0)
    with one_thread():
        banks = fit_bank(dataset, rng, names)
        train, val = dataset.split("train"), dataset.split("val")
        # A few regions of every scene: neighbours in one scene have little to add to one another.
        learned = _regions(train, banks, len(dataset.classes), rng, -(-TRAINING_ROWS // len(train)))
        judged = _regions(val, banks, len(dataset.classes))
        prior = judged.counts[:, _commonest_class(train)].sum() / judged.counts.sum()
        alone = {name: _accuracy(learned, judged, [name]) for name in names}
        accuracy = _accuracy(learned, judged, names)
    parts = {"prior": float(prior), **alone, "regions learned from": len(learned.counts)}
    yield Figure(together, Bar("at least", 0.78), accuracy, parts=parts)
    worse = [name for name, value in alone.items() if value <= prior]
    yield Figure(losers, Bar("at most", 0), len(worse), parts={"sets": worse})


def _commonest_class(scenes: SceneList) -> int:
    """The class of most pixels; not read off the regions learned from, which favour small ones."""
    counts = np.zeros(256, np.int64)
    for index in range(len(scenes)):
        truth = scenes.truth(index)
        if truth is not None:
            counts += np.bincount(truth[truth >= 0], minlength=len(counts))
    return int(counts.argmax())


def _regions(
    scenes: SceneList,
    banks: CrossFit,
    classes: int,
    rng: np.random.Generator | None = None,
    rows: int | None = None,
) -> Regions:
    """Describe all finest regions of the scenes, or `rows` of each scene, the larger the likelier."""
    features: dict[str, list[NDArray[np.float32]]] = {name: [] for name in banks.whole}
    counts = []
    for scene_id, (frame, truth) in zip(scenes.ids, labeled_frames(scenes), strict=True):
        tree = Tree(frame)
        tree.grow(LAYERS)
        regions = RegionFeatures(banks.bank_for(scene_id), View(frame), tree)
        own_counts = _count(tree, truth, classes)
        chosen = np.arange(len(own_counts))
        if rng is not None and rows is not None:
            chosen = _draw(own_counts, rows, rng)
        for name, own in features.items():
            own.append(regions.features(name, LAYERS - 1)[chosen])
        counts.append(own_counts[chosen])
    return Regions({name: np.concatenate(own) for name, own in features.items()}, np.concatenate(counts))


def _count(tree: Tree, truth: NDArray[np.int16], classes: int) -> NDArray[np.int64]:
    """Pixels of each class in each finest region, int64[n, classes]."""
    rows, columns = np.nonzero(truth >= 0)
    region = tree.pixels[rows // tree.stride, columns // tree.stride].astype(np.int64)
    slots = region * classes + truth[rows, columns]
    return np.bincount(slots, minlength=len(tree.areas[-1]) * classes).reshape(-1, classes)


def _draw(counts: NDArray[np.int64], rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
    known = np.sqrt(counts.sum(axis=1))
    size = min(rows, int(np.count_nonzero(known)))
    return rng.choice(len(known), size, replace=False, p=known / known.sum())


def _accuracy(learned: Regions, judged: Regions, names: Sequence[str]) -> float:
    """Share of val's pixels whose region gets their class from a classifier of these sets."""
    classifier = HistGradientBoostingClassifier(**CLASSIFIER)
    classifier.fit(
        np.hstack([learned.features[name] for name in names]),
        learned.counts.argmax(axis=1),
        sample_weight=np.sqrt(learned.counts.max(axis=1)),
    )
    labels = classifier.predict(np.hstack([judged.features[name] for name in names]))
    right = np.take_along_axis(judged.counts, labels[:, None], axis=1).sum()
    return float(right / judged.counts.sum())
