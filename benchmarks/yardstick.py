"""The yardstick of the bench `paper`: a standard classifier of regions, priced as our own trees are.

scikit-learn's histogram boosting looks at some feature sets on one layer of the tree. More sets, finer layers
and more trees label better and cost more. For each budget the training images choose: of all that cost no
more, the one that labels best those of them that it was not fitted to. That one is fitted to all of them, and
is what a learned sequence of actions must keep up with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from anyscene.learning.corpus import Corpus, Example
from anyscene.learning.learners.cross_fit import folds_of_runs
from anyscene.model.action_costs import ActionCosts
from benchmarks.feature_usefulness import CLASSIFIER, TRAINING_ROWS
from benchmarks.staircase import WEIGHT_SCALE, Task

LAYERS_TRIED = (3, 5, 7)
SETS_TRIED = (2, 3, 4, 6, 8)
ROUNDS_TRIED = (5, 10, 20, 40, 80)
"""Rounds of boosting; each fits one tree for every class."""

PRICES = (2.0, 4.0, np.inf)
"""Milliseconds that a feature set may cost: short budgets need a classifier of cheap sets alone."""

SELECTION_ROUNDS = 15
SELECTION_ROWS = 6_000

SEEDS = (0, 1, 2)
"""What is chosen is fitted once with each, and the mean counts."""


@dataclass(frozen=True)
class Rival:
    """One classifier.

    cost : milliseconds, where each of its trees costs what one of ours does. least_cost : where a round of
    them does, one for every class. inner : accuracy on training images that it was not fitted to.
    """

    layer: int
    sets: tuple[str, ...]
    rounds: int
    cost: float
    least_cost: float
    inner: float

    def __str__(self) -> str:
        """In a few words."""
        return f"layer {self.layer}, {', '.join(self.sets)}, {self.rounds} rounds"


def rivals(task: Task, costs: ActionCosts) -> list[Rival]:
    """Classifiers of all sizes, each judged on a fold of the training images that it was not fitted to."""
    names = task.corpus.sets
    price = {name: _extraction(costs, LAYERS_TRIED[-1], [i]) - costs.start for i, name in enumerate(names)}
    grown = float(costs.step + costs.grow.sum())
    orders = [
        select_sets(task.corpus, [name for name in names if price[name] - grown <= most]) for most in PRICES
    ]
    tried = {order[:count] for order in orders for count in SETS_TRIED if count <= len(order)}
    return [
        rival
        for layer in LAYERS_TRIED
        for sets in sorted(tried)
        for rival in _of_sets(task.corpus, costs, layer, sets)
    ]


def best_of(affordable: Sequence[Rival]) -> Rival | None:
    """The rival that the training images choose; None if there is none."""
    return max(affordable, key=lambda rival: rival.inner, default=None)


def accuracy_of(rival: Rival, task: Task) -> float:
    """Mean share of the judged images' pixels that are right, fitted to all training images; of all seeds."""
    fits = [
        _fit(task.corpus.fit, rival.layer, rival.sets, rival.rounds, seed, TRAINING_ROWS) for seed in SEEDS
    ]
    return float(
        np.mean([[_accuracies(f, e, rival.layer, rival.sets)[-1] for e in task.judged] for f in fits])
    )


def select_sets(corpus: Corpus, among: Sequence[str]) -> tuple[str, ...]:
    """Feature sets in the order in which each adds most, on a fold that was not fitted to."""
    fitted, judged = _inner_split(corpus)
    layer = LAYERS_TRIED[1]
    order: list[str] = []
    while len(order) < len(among):
        left = [name for name in among if name not in order]
        scores = {}
        for name in left:
            sets = (*order, name)
            classifier = _fit(fitted, layer, sets, SELECTION_ROUNDS, 0, SELECTION_ROWS)
            scores[name] = np.mean([_accuracies(classifier, e, layer, sets)[-1] for e in judged])
        order.append(max(left, key=lambda name: scores[name]))
    return tuple(order)


def _inner_split(corpus: Corpus) -> tuple[list[Example], list[Example]]:
    """Training images to fit to, and some of a fold of them to judge by."""
    folds = folds_of_runs(len(corpus.fit))
    fitted = [example for example, fold in zip(corpus.fit, folds, strict=True) if fold]
    return fitted, [example for example, fold in zip(corpus.fit, folds, strict=True) if not fold][::4]


def _of_sets(corpus: Corpus, costs: ActionCosts, layer: int, sets: tuple[str, ...]) -> list[Rival]:
    fitted, judged = _inner_split(corpus)
    classifier = _fit(fitted, layer, sets, max(ROUNDS_TRIED), 0, TRAINING_ROWS)
    inner = np.mean([_accuracies(classifier, example, layer, sets) for example in judged], axis=0)
    regions = float(np.mean([_layer(example, layer)[0].size for example in corpus.fit]))
    read = _extraction(costs, layer, [corpus.sets.index(name) for name in sets]) + regions * costs.input
    round_ms = regions * costs.tree
    return [
        Rival(
            layer,
            sets,
            rounds,
            cost=read + rounds * corpus.classes * round_ms,
            least_cost=read + rounds * round_ms,
            inner=float(inner[rounds - 1]),
        )
        for rounds in ROUNDS_TRIED
    ]


def _extraction(costs: ActionCosts, layer: int, sets: Sequence[int]) -> float:
    """Milliseconds of growing the tree to a layer and of extracting sets on it."""
    needed = costs.requires[sets, layer].any(axis=0)
    return float(
        costs.start
        + costs.step
        + costs.grow[: layer + 1].sum()
        + costs.items[needed].sum()
        + costs.pooling[sets, layer].sum()
    )


def _fit(
    examples: Sequence[Example], layer: int, sets: Sequence[str], rounds: int, seed: int, most: int
) -> HistGradientBoostingClassifier:
    random = np.random.default_rng(seed)
    each = -(-most // len(examples))
    tables, labels, weights = [], [], []
    for example in examples:
        nodes, mass = _layer(example, layer)
        root = np.sqrt(mass.sum(axis=1))
        chosen = random.choice(len(nodes), min(each, len(nodes)), replace=False, p=root / root.sum())
        tables.append(_table(example, nodes[chosen], sets))
        labels.append(mass[chosen].argmax(axis=1))
        weights.append(np.sqrt(mass[chosen].max(axis=1)))
    classifier = HistGradientBoostingClassifier(**{**CLASSIFIER, "max_iter": rounds, "random_state": seed})
    weight = WEIGHT_SCALE * np.concatenate(weights)
    return classifier.fit(np.concatenate(tables), np.concatenate(labels), sample_weight=weight)


def _accuracies(
    classifier: HistGradientBoostingClassifier, example: Example, layer: int, sets: Sequence[str]
) -> list[float]:
    """The share of an image's labelled pixels that are right after each round."""
    nodes, mass = _layer(example, layer)
    table = _table(example, nodes, sets)
    rows = np.arange(len(nodes))
    return [float(mass[rows, label].sum() / mass.sum()) for label in classifier.staged_predict(table)]


def _layer(example: Example, layer: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The labelled regions of one layer and their classes."""
    start = example.evidence.tree.start
    nodes = np.arange(start[layer], start[layer + 1])
    mass = example.truth.mass[nodes]
    known = mass.sum(axis=1) > 0
    return nodes[known], mass[known]


def _table(example: Example, nodes: NDArray[np.int64], sets: Sequence[str]) -> NDArray[np.float32]:
    return np.hstack([example.evidence.features[name][nodes] for name in sets]).astype(np.float32)
