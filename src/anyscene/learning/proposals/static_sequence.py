"""Action proposals: a greedy sequence of actions on all images, and again on clusters (section 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from anyscene.learning.corpus import Corpus, Example
from anyscene.learning.learners.weak_learners import (
    LearnerSettings,
    choose_candidates,
    draw_sample,
    fit_chain,
    screen,
)
from anyscene.learning.parallel import map_threads
from anyscene.learning.policy.process import ImageVisit
from anyscene.learning.proposals.draft import Draft, bundle_sizes
from anyscene.model.action_costs import ActionCosts
from anyscene.model.actions import Action, Split, Update
from anyscene.model.chain import PARENT_BELIEF, Chain
from anyscene.model.loss import labeling_loss
from anyscene.model.state import State, initial_state


@dataclass(frozen=True)
class ProposalSettings:
    """How actions are proposed. lambdas : weights of the cost (`choose_candidates`)."""

    thresholds: tuple[float, ...] = (0.0, 0.3, 0.6, 1.0)
    lambdas: tuple[float, ...] = (0.0, 0.3, 0.9)
    max_steps: int = 16
    alpha: float = 0.5
    threads: int = 1
    learners: LearnerSettings = field(default_factory=LearnerSettings)


@dataclass(frozen=True)
class GreedySequence:
    """A static sequence of actions, best at each step by mean reward.

    chains : all that were fitted on the way. actions : those taken, up to the lowest held-out loss.
    held_out_loss : before the first action and after each.
    """

    chains: tuple[Chain, ...]
    actions: tuple[Action, ...]
    held_out_loss: tuple[float, ...]


def greedy_sequence(
    corpus: Corpus,
    group: Sequence[Example],
    costs: ActionCosts,
    settings: ProposalSettings,
    seed: np.random.SeedSequence,
    on_step: Callable[[int, Action, float], None] = lambda step, action, loss: None,
) -> GreedySequence:
    """Propose splits and newly fitted bundles at every step and take the one of largest mean reward.

    group : the fitted images whose mean counts. Ends when nothing has a positive mean reward.
    """
    prior = corpus.prior
    chains: list[Chain] = []
    present: list[int] = []  # chains fitted since the latest split, for the leaves that are active now
    taken: list[Action] = []
    everyone = (*group, *corpus.held_out)
    start = initial_state(prior, len(corpus.sets), corpus.layer_count, 0, costs.start)
    states = [start] * len(everyone)
    start_draft = Draft(corpus, (), (), costs, prior, settings.alpha, settings.max_steps)
    losses = [_held_out_loss(start_draft, states[len(group) :])]
    for step, step_seed in enumerate(seed.spawn(settings.max_steps)):
        fitted = _propose_chains(corpus, group, states, costs, settings, step_seed)
        present += range(len(chains), len(chains) + len(fitted))
        chains += fitted
        updates = [
            Update(chain, size)
            for chain in present
            for size in bundle_sizes(chains[chain], settings.learners.sizes)
        ]
        actions: tuple[Action, ...] = (*(Split(threshold) for threshold in settings.thresholds), *updates)
        model = Draft(corpus, tuple(chains), actions, costs, prior, settings.alpha, settings.max_steps)
        states = [_with_chains(state, len(chains)) for state in states]
        visits = [model.resume(example, state) for example, state in zip(everyone, states, strict=True)]
        rewards = np.mean(map_threads(ImageVisit.all_rewards, visits[: len(group)], settings.threads), axis=0)
        best = int(np.argmax(rewards))
        if rewards[best] <= 0:
            break
        states = map_threads(partial(_after, action=best), visits, settings.threads)
        taken.append(actions[best])
        if isinstance(actions[best], Split):
            present = []
        losses.append(_held_out_loss(model, states[len(group) :]))
        on_step(step, actions[best], losses[-1])
    horizon = int(np.argmin(losses))
    return GreedySequence(tuple(chains), tuple(taken[:horizon]), tuple(losses[: horizon + 1]))


def cluster(corpus: Corpus, count: int, costs: ActionCosts, seed: int) -> list[list[Example]]:
    """Group the fitted images by what the cheaper half of the feature sets says of the image as a whole."""
    if count <= 1 or len(corpus.fit) < 4 * count:
        return []
    price = set_prices(costs)
    cheap = [name for name, ms in zip(corpus.sets, price, strict=True) if ms <= np.median(price)]
    descriptors = np.array(
        [np.concatenate([example.evidence.features[name][0] for name in cheap]) for example in corpus.fit],
        np.float64,
    )
    labels = KMeans(count, random_state=seed, n_init=4).fit_predict(descriptors)
    groups = [[e for e, label in zip(corpus.fit, labels, strict=True) if label == k] for k in range(count)]
    return [group for group in groups if len(group) >= 4]


def set_prices(costs: ActionCosts) -> NDArray[np.float64]:
    """Milliseconds of each set on the coarsest layer, nothing being there yet, float64[S]."""
    return np.asarray(costs.pooling[:, 0] + costs.requires[:, 0] @ costs.items)


def _propose_chains(
    corpus: Corpus,
    group: Sequence[Example],
    states: Sequence[State],
    costs: ActionCosts,
    settings: ProposalSettings,
    seed: np.random.SeedSequence,
) -> list[Chain]:
    """Fit chains to the active leaves, for several weights of their cost."""
    learners = settings.learners
    screen_seed, sample_seed, fit_seed = seed.spawn(3)
    random = np.random.default_rng(screen_seed)
    small = draw_sample(group, states[: len(group)], learners.screening_samples, corpus.sets, random)
    in_hand = np.flatnonzero(states[0].in_hand.any(axis=1)).tolist()
    others = [s for s in range(len(corpus.sets)) if s not in in_hand]
    fresh = draw_sample(
        corpus.held_out, states[len(group) :], learners.screening_samples, corpus.sets, random
    )
    candidates = screen(small, fresh, in_hand, others, corpus, learners, random)
    prices = [_price(candidate.sources, states[: len(group)], costs, learners) for candidate in candidates]
    chosen = choose_candidates(candidates, prices, settings.lambdas)
    random = np.random.default_rng(sample_seed)
    sample = draw_sample(group, states[: len(group)], learners.samples, corpus.sets, random)
    held_out = draw_sample(corpus.held_out, states[len(group) :], learners.samples // 3, corpus.sets, random)
    jobs = list(zip(chosen, fit_seed.spawn(len(chosen)), strict=True))
    fitted = map_threads(
        lambda job: fit_chain(sample, held_out, job[0], corpus, learners, np.random.default_rng(job[1])),
        jobs,
        settings.threads,
    )
    return [chain for chain in fitted if chain is not None]


def _price(
    sources: Sequence[int], states: Sequence[State], costs: ActionCosts, settings: LearnerSettings
) -> float:
    """Mean cost over images of extracting what is missing and applying a chain of middle size."""
    wanted = np.array([s for s in sources if s != PARENT_BELIEF], np.int64)
    total = 0.0
    for state in states:
        new = np.zeros_like(state.in_hand)
        new[wanted] = state.active_layers & ~state.in_hand[wanted]
        items = costs.requires[new].any(axis=0) & ~costs.requires[state.in_hand].any(axis=0)
        total += float(costs.pooling[new].sum() + costs.items[items].sum())
        total += int(state.active.sum()) * (costs.input + costs.tree * float(np.median(settings.sizes)))
    return costs.step + total / len(states)


def _after(visit: ImageVisit, action: int) -> State:
    return visit.take(action)[1].state if visit.offered[action] else visit.state


def _with_chains(state: State, count: int) -> State:
    return replace(state, applied=np.pad(state.applied, (0, count - len(state.applied))))


def _held_out_loss(draft: Draft, states: Sequence[State]) -> float:
    pairs = zip(draft.corpus.held_out, states, strict=True)
    return float(
        np.mean([labeling_loss(draft.model.shown(s, e.evidence), e.truth, draft.alpha) for e, s in pairs])
    )
