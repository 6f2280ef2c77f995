"""Proposals of a step, and which of them to take: by reward, or by a plan of several steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from anyscene.learning.proposals.sources import Sources
from anyscene.model.actions import Split

PLANNED = 3
"""Steps that a far-sighted course plans ahead, at most."""


@dataclass(frozen=True)
class Proposal:
    """Some splits, then a bundle.

    gain : foretold drop of the loss. cost : milliseconds spent when it is done.
    waste : those of them that do not serve finer steps: applying trees to these very leaves.
    """

    splits: tuple[Split, ...]
    sources: Sources
    gain: float
    cost: float
    waste: float


def rewarding(proposals: Sequence[Proposal], spent: float) -> Proposal:
    """The proposal of largest foretold reward (Eq. 4)."""
    return max(proposals, key=lambda proposal: proposal.gain / (proposal.cost - spent))


def best_of_each_kind(proposals: Sequence[Proposal], spent: float) -> list[Proposal]:
    """The proposals that promise most with each choice of sets, on the leaves of now and after splits.

    One fold screens, and may be wrong about a set; all folds judge what is fitted. So proposals that differ
    are fitted, rather than the same sets on leaves that are nearly the same.
    """
    kinds: dict[tuple[Sources, bool], list[Proposal]] = {}
    for proposal in proposals:
        kinds.setdefault((proposal.sources, bool(proposal.splits)), []).append(proposal)
    return [rewarding(alike, spent) for alike in kinds.values()]


def plan(proposals: Sequence[Proposal], horizon: float) -> tuple[Proposal, ...]:
    """The steps of largest area over log cost, from coarse to fine; they end by a cost of `horizon`."""
    hull: list[Proposal] = []
    for proposal in sorted(proposals, key=lambda proposal: proposal.cost):
        if not hull or proposal.gain > hull[-1].gain:
            hull.append(proposal)
    ways = (way for length in range(1, PLANNED + 1) for way in combinations(hull, length))
    return max(ways, key=lambda way: planned_area(way, horizon))


def planned_area(way: Sequence[Proposal], horizon: float) -> float:
    """The area over log cost that steps one after the other are foretold to save of the loss.

    A step has what those before it would have gained, too: it looks at the same sets and more.
    """
    wasted = np.cumsum([0.0, *(step.waste for step in way[:-1])])
    shown = np.array([step.cost for step in way]) + wasted
    until = np.append(shown[1:], max(horizon, shown[-1]))
    return float(np.array([step.gain for step in way]) @ np.log(until / shown))
