"""A model in the making: each training image sees it without what was learned from the image itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anyscene.learning.corpus import HELD_OUT, Corpus, Example
from anyscene.learning.process import ImageVisit, ScoreCache, first_visit
from anyscene.learning.weak_learners import FoldedChain
from anyscene.model.actions import Action, Pool
from anyscene.model.costs import ActionCosts
from anyscene.model.rollout import Model
from anyscene.model.state import State


@dataclass(frozen=True)
class FoldedModel:
    """Actions whose weak learners have, for every fold, values that leave the fold out."""

    corpus: Corpus
    chains: tuple[FoldedChain, ...]
    actions: tuple[Action, ...]
    costs: ActionCosts
    prior: NDArray[np.float32]
    alpha: float
    max_steps: int

    @cached_property
    def _models(self) -> dict[int, Model]:
        return {fold: self._model(fold) for fold in (HELD_OUT, *range(self.corpus.folds))}

    def _model(self, fold: int) -> Model:
        chains = tuple(chain.for_fold(fold) for chain in self.chains)
        pool = Pool(self.corpus.sets, chains, self.actions, self.corpus.classes, self.corpus.layer_count)
        return Model(pool, self.costs, self.prior, self.max_steps)

    def for_image(self, example: Example) -> Model:
        """The model as this image sees it."""
        return self._models[example.fold]

    def start(self, example: Example) -> ImageVisit:
        """The first visit to an image."""
        return first_visit(self.for_image(example), example, self.alpha)

    def resume(self, example: Example, state: State) -> ImageVisit:
        """A visit to a state that was reached elsewhere, with as many chains as this model has."""
        model = self.for_image(example)
        return ImageVisit(model, example, self.alpha, state, ScoreCache(model, example))

    def deployed(self) -> Pool:
        """The pool for features as they are, not binned."""
        bins = dict(self.corpus.bins)
        chains = tuple(chain.deployed(self.corpus.sets, bins) for chain in self.chains)
        return Pool(self.corpus.sets, chains, self.actions, self.corpus.classes, self.corpus.layer_count)


def bundle_sizes(chain: FoldedChain, sizes: Sequence[int]) -> list[int]:
    """The bundles that a chain has: those of the wanted sizes that fit, and the whole chain."""
    return sorted({min(size, chain.chain.size) for size in sizes})
