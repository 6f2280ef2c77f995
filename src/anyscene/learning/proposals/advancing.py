"""Many images that take every step together, along several lines of chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anyscene.learning.corpus import Corpus, Example
from anyscene.learning.learners.cross_fit import FOLDS
from anyscene.model.action_costs import ActionCosts
from anyscene.model.actions import Action, Pool, Split, Update
from anyscene.model.chain import Chain
from anyscene.model.state import State, initial_state
from anyscene.policy.model import Model

Lines = list[list[State]]
"""The states of all images along each line: one line for each fold, which leaves it out, then that of all."""

EVERY_STEP = 10**6
"""A horizon that is never reached: whoever proposes actions ends by other rules."""


@dataclass(frozen=True)
class Measured:
    """The mean image: milliseconds spent, the two terms of Eq. 3, and the share of pixels that are right.

    active : the share of the image in active leaves, by layer.
    """

    cost: float
    cross_entropy: float
    impurity: float
    accuracy: float
    active: tuple[float, ...]

    def loss(self, alpha: float) -> float:
        """Eq. 3: how wrong labels are, and how mixed regions are."""
        return self.cross_entropy + alpha * self.impurity


@dataclass(frozen=True)
class Crowd:
    """Images, the fold of each, int64[M] (-1 where there are none), and what actions cost."""

    corpus: Corpus
    examples: tuple[Example, ...]
    folds: NDArray[np.int64]
    costs: ActionCosts

    @property
    def line_count(self) -> int:
        """One for each fold, and one for all images."""
        return FOLDS + 1 if self.folds.max(initial=-1) >= 0 else 1

    def fitted(self, line: int) -> NDArray[np.bool_]:
        """Which images a line learns from, bool[M]."""
        return np.asarray(self.folds != line)

    def start(self) -> Lines:
        """Before the first action."""
        corpus = self.corpus
        first = initial_state(corpus.prior, len(corpus.sets), corpus.layer_count, 1, self.costs.start)
        return [[first] * len(self.examples) for _ in range(self.line_count)]

    def judged(self, lines: Lines) -> list[State]:
        """Each image's state along the line that has not seen it; along the last if all have."""
        return [lines[fold][image] for image, fold in enumerate(self.folds)]

    def split(self, states: Sequence[State], threshold: float) -> list[State]:
        """Split on every image where that changes something."""
        model = self._model(Split(threshold), ())
        return [_advance(model, *pair) for pair in zip(self.examples, states, strict=True)]

    def update(self, states: Sequence[State], chains: Sequence[Chain], size: int) -> list[State]:
        """Apply a bundle to every image; chains : one for each image, or the same for all."""
        models = {id(chain): self._model(Update(0, size), (chain,)) for chain in chains}
        fresh = np.zeros(1, np.int16)
        return [
            _advance(models[id(chain)], example, replace(state, applied=fresh))
            for example, state, chain in zip(self.examples, states, chains, strict=True)
        ]

    def measure(self, states: Sequence[State]) -> Measured:
        """What holds of the mean image; a leaf shows one label."""
        rows = []
        active = np.zeros(self.corpus.layer_count)
        for state, example in zip(states, self.examples, strict=True):
            np.add.at(active, state.layers[state.active], state.area[state.active] / len(states))
            mass = example.truth.mass[state.leaves]
            cross_entropy = -np.einsum("ik,ik->", mass, state.log_belief, dtype=np.float64)
            impurity = example.truth.impurity[state.leaves].sum(dtype=np.float64)
            right = mass[np.arange(len(mass)), state.labels].sum(dtype=np.float64)
            rows.append((state.cost, cross_entropy, impurity, right))
        cost, cross_entropy, impurity, accuracy = np.mean(rows, axis=0).tolist()
        return Measured(cost, cross_entropy, impurity, accuracy, tuple(active.tolist()))

    def _model(self, action: Action, chains: tuple[Chain, ...]) -> Model:
        corpus = self.corpus
        pool = Pool(corpus.sets, chains, (action,), corpus.classes, corpus.layer_count)
        return Model(pool, self.costs, corpus.prior, EVERY_STEP)


def _advance(model: Model, example: Example, state: State) -> State:
    situation = model.situation(state)
    return model.advance(situation, 0, example.evidence) if situation.offered[0] else state
