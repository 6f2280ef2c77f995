"""A model in the making: actions whose weak learners look at bins, on images whose truth is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anyscene.learning.corpus import Corpus, Example
from anyscene.learning.policy.process import ImageVisit, ScoreCache, first_visit
from anyscene.model.action_costs import ActionCosts
from anyscene.model.actions import Action, Pool
from anyscene.model.chain import PARENT_BELIEF, Chain
from anyscene.model.state import State
from anyscene.policy.model import Model


@dataclass(frozen=True)
class Draft:
    """Actions, costs and prior, with the images they are learned from.

    chains : thresholds of features are bins, as the corpus holds them.
    lines : the same chains as fitted without the images of each fold. line_of : the line that has not seen
    an image, by its id; images that are not named are visited with `chains`.
    """

    corpus: Corpus
    chains: tuple[Chain, ...]
    actions: tuple[Action, ...]
    costs: ActionCosts
    prior: NDArray[np.float32]
    alpha: float
    max_steps: int
    lines: tuple[tuple[Chain, ...], ...] = ()
    line_of: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def model(self) -> Model:
        """The model for the corpus's binned images."""
        return self._model(self.chains)

    def model_for(self, example: Example) -> Model:
        """The model whose chains have not seen an image, where there is one."""
        line = self.line_of.get(example.id)
        return self.model if line is None else self._lines[line]

    @cached_property
    def _lines(self) -> tuple[Model, ...]:
        return tuple(self._model(chains) for chains in self.lines)

    def start(self, example: Example) -> ImageVisit:
        """The first visit to an image."""
        return first_visit(self.model_for(example), example, self.alpha)

    def resume(self, example: Example, state: State) -> ImageVisit:
        """A visit to a state that was reached elsewhere, with as many chains as this model has."""
        model = self.model_for(example)
        return ImageVisit(model, example, self.alpha, state, ScoreCache(model, example))

    def deployed(self) -> Model:
        """The model for features as they are, not binned."""
        return self._model(tuple(self._unbinned(chain) for chain in self.chains))

    def _model(self, chains: tuple[Chain, ...]) -> Model:
        corpus = self.corpus
        pool = Pool(corpus.sets, chains, self.actions, corpus.classes, corpus.layer_count, corpus.ladder)
        return Model(pool, self.costs, self.prior, self.max_steps)

    def _unbinned(self, chain: Chain) -> Chain:
        threshold = chain.threshold.copy()
        for node in np.flatnonzero(chain.left >= 0):
            source = chain.source[chain.feature[node]]
            if source != PARENT_BELIEF:
                column = chain.column[chain.feature[node]]
                edges = self.corpus.bins[self.corpus.sets[source]].edges
                threshold[node] = edges[column, int(threshold[node])]
        return replace(chain, threshold=threshold)


def bundle_sizes(chain: Chain, sizes: Sequence[int]) -> list[int]:
    """The bundles that a chain has: those of the wanted sizes that fit, and the whole chain."""
    return sorted({min(size, chain.size) for size in sizes})
