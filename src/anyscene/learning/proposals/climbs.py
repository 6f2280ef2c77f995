"""Climbs: a few rungs of the ladder, from cheap to dear, each blended with those before.

A greedy sequence takes every rung, because each pays at once; which had better be left out shows only at the
end. There are few rungs and a blend is fitted in a second, so all climbs that rise fast enough are proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from anyscene.features.hypercolumn.rung import Rung, rungs_among
from anyscene.features.place import Place
from anyscene.learning.corpus import Corpus
from anyscene.learning.learners.weak_learners import LearnerSettings, blend_chain, draw_sample
from anyscene.learning.proposals.static_sequence import GreedySequence
from anyscene.model.actions import Update
from anyscene.model.chain import Chain
from anyscene.model.state import initial_state

MOST_RUNGS = 3
"""From CamVid's half a to b a third rung added at most 0.1 points to the better pair; four were not tried."""


RISE = 1.4
"""A rung costs at least so many times the one before it: what they say in common is paid for twice. One that
sees the frame mirrored, which says less in common with the others, may stand beside any."""


def propose_climbs(
    corpus: Corpus, prices: NDArray[np.float64], settings: LearnerSettings, seed: np.random.SeedSequence
) -> list[GreedySequence]:
    """Every choice of at most three rungs that rises fast enough, on the image as a whole.

    prices : of the feature sets, in milliseconds.
    """
    rises, looks = rises_between(corpus, prices), rungs_among(corpus.sets)
    # By cost and not by size: a large network's small input may cost more than a small network's large one.
    by_cost = sorted(corpus.ladder, key=lambda rung: prices[rung])
    start = initial_state(corpus.prior, len(corpus.sets), corpus.layer_count, 0)
    states, random = [start] * len(corpus.fit), np.random.default_rng(seed)
    sample = draw_sample(corpus.fit, states, settings.samples, corpus.sets, random)
    chains: dict[tuple[int, ...], Chain] = {}
    climbs = []
    for count in range(1, MOST_RUNGS + 1):
        for rungs in combinations(by_cost, count):
            if not all(rises(before, after) for before, after in pairwise(rungs)):
                continue
            if not are_news([looks[name] for name in (corpus.sets[i] for i in rungs) if name in looks]):
                continue
            chains[rungs] = blend_chain(sample, rungs, corpus, settings)
            steps = range(1, count + 1)
            climbs.append(
                GreedySequence(
                    chains=tuple(chains[rungs[:end]] for end in steps),
                    actions=tuple(Update(end - 1, 1) for end in steps),
                    held_out_loss=(),
                )
            )
    return climbs


def are_news(rungs: Sequence[Rung]) -> bool:
    """Whether each rung sees what the others do not: of several networks, each looks once, and once mirrored.

    Beside another network, a second look of a kind made labels worse by pixels and classes together
    (docs/research/2026-11-18-two-networks.md).
    """
    kinds = {(rung.network, rung.mirrored) for rung in rungs}
    return len({rung.network for rung in rungs}) <= 1 or len(kinds) == len(rungs)


def rises_between(corpus: Corpus, prices: NDArray[np.float64]) -> Callable[[int, int], bool]:
    """Tells whether the second of two sets may follow the first in a climb.

    What is usual at a place stands alone: blended with a rung it labelled other drives worse
    (docs/research/2026-11-18-classes-count.md).
    """
    mirrored = {name for name, rung in rungs_among(corpus.sets).items() if rung.mirrored}

    def rises(before: int, after: int) -> bool:
        if Place.name in (corpus.sets[before], corpus.sets[after]):
            return False
        differs = (corpus.sets[before] in mirrored) != (corpus.sets[after] in mirrored)
        return differs or bool(prices[after] >= RISE * prices[before])

    return rises
