"""The action pool: all proposals without duplicates, pruned to what is ever best on held-out images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anyscene.learning.corpus import Corpus
from anyscene.learning.parallel import map_threads
from anyscene.learning.policy.policy_iteration import Behaviour
from anyscene.learning.policy.process import ImageVisit, as_behaviour
from anyscene.learning.proposals.draft import Draft, bundle_sizes
from anyscene.learning.proposals.static_sequence import GreedySequence, ProposalSettings
from anyscene.model.action_costs import ActionCosts
from anyscene.model.actions import Action, Split, Update
from anyscene.policy.plans import Plan
from anyscene.policy.policies import RandomPolicy, StaticPolicy


@dataclass(frozen=True)
class Proposals:
    """A pool and the static sequences in it, as action indices; the first is S-M's.

    guides : what the learned policy may depart from, from the safest on; none until they were searched for.
    plans : what it does by a known deadline, from cheap to dear.
    """

    model: Draft
    sequences: tuple[tuple[int, ...], ...]
    guides: tuple[tuple[int, ...], ...] = ()
    plans: tuple[Plan, ...] = ()


def combine(
    corpus: Corpus,
    sequences: Sequence[GreedySequence],
    costs: ActionCosts,
    settings: ProposalSettings,
    max_steps: int,
) -> Proposals:
    """Put all proposals into one pool, without duplicates: every threshold, every bundle of every chain."""
    different = {id(chain): chain for sequence in sequences for chain in sequence.chains}
    chains, place = tuple(different.values()), {key: i for i, key in enumerate(different)}
    updates = [
        Update(i, size) for i, c in enumerate(chains) for size in bundle_sizes(c, settings.learners.sizes)
    ]
    actions: tuple[Action, ...] = (*(Split(threshold) for threshold in settings.thresholds), *updates)
    position = {action: i for i, action in enumerate(actions)}
    indices = tuple(
        tuple(
            position[replace(a, chain=place[id(sequence.chains[a.chain])]) if isinstance(a, Update) else a]
            for a in sequence.actions
        )
        for sequence in sequences
    )
    model = Draft(corpus, chains, actions, costs, corpus.prior, settings.alpha, max_steps)
    return Proposals(model, indices)


def prune(
    proposals: Proposals, most: int, images: int, threads: int, seed: np.random.SeedSequence
) -> list[int]:
    """Choose the splits, actions of S-M, guides and plans, and what is most often best on held-out images.

    Best in the states that S-M and random walks pass through.
    """
    model = proposals.model
    examples = model.corpus.held_out[:: max(1, len(model.corpus.held_out) // images)][:images]
    static = proposals.sequences[0]
    jobs = [(example, followed) for example in examples for followed in (True, False)]
    seeds = seed.spawn(len(jobs))

    def count(job: int) -> NDArray[np.int64]:
        example, followed = jobs[job]
        policy = StaticPolicy(static) if followed else RandomPolicy(np.random.default_rng(seeds[job]))
        return _count_best(model.start(example), as_behaviour(policy), len(model.actions))

    counts = np.sum(map_threads(count, range(len(jobs)), threads), axis=0)
    splits = {i for i, action in enumerate(model.actions) if isinstance(action, Split)}
    kept = splits.union(static, *proposals.guides, *(plan.actions for plan in proposals.plans))
    for action in np.argsort(-counts, kind="stable"):
        if len(kept) >= most or counts[action] == 0:
            break
        kept.add(int(action))
    return sorted(kept)


def _count_best(visit: ImageVisit, behaviour: Behaviour, width: int) -> NDArray[np.int64]:
    """How often each action had the largest reward on the way."""
    counts = np.zeros(width, np.int64)
    taken: tuple[int, ...] = ()
    while visit.offered.any():
        tried = {int(a): visit.take(int(a)) for a in np.flatnonzero(visit.offered)}
        counts[max(tried, key=lambda a: tried[a][0])] += 1
        action = behaviour(visit, taken)
        if action is None:
            break
        taken = (*taken, action)
        visit = tried[action][1]
    return counts


def restrict_actions(proposals: Proposals, kept: Sequence[int]) -> Proposals:
    """The same with these actions only, and with the chains that they use."""
    model = proposals.model
    actions = [model.actions[i] for i in kept]
    used = sorted({action.chain for action in actions if isinstance(action, Update)})
    chain_position = {chain: i for i, chain in enumerate(used)}
    renamed = tuple(
        replace(action, chain=chain_position[action.chain]) if isinstance(action, Update) else action
        for action in actions
    )
    position = {old: new for new, old in enumerate(kept)}
    sequences, guides = (
        tuple(tuple(position[a] for a in sequence if a in position) for sequence in group)
        for group in (proposals.sequences, proposals.guides)
    )
    chains = tuple(model.chains[chain] for chain in used)
    lines = tuple(tuple(line[chain] for chain in used) for line in model.lines)
    plans = tuple(
        replace(plan, actions=tuple(position[action] for action in plan.actions)) for plan in proposals.plans
    )
    restricted = replace(model, chains=chains, actions=renamed, lines=lines)
    return Proposals(restricted, sequences, guides, plans)
