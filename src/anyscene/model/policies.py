"""Who picks the next action: one protocol for the learned policy and everything it is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from anyscene.model.actions import Pool
from anyscene.model.costs import Coverage
from anyscene.model.phi import Phi, describe
from anyscene.model.state import State


@dataclass(frozen=True)
class Situation:
    """All that a policy may look at before it picks an action.

    offered : bool[A], actions that would change something (and fit the time left, under a clock).
    costs : float64[A]. taken : the actions taken so far.
    """

    state: State
    pool: Pool
    offered: NDArray[np.bool_]
    costs: NDArray[np.float64]
    coverage: Coverage
    taken: tuple[int, ...]

    @cached_property
    def phi(self) -> Phi:
        """The meta-features of every action here."""
        return describe(self.state, self.pool, self.coverage, self.costs)


class Policy(Protocol):
    """Picks an offered action, or None to stop."""

    def choose(self, situation: Situation) -> int | None:
        """Return the index of an offered action, None when nothing is worth its cost."""
        ...


@dataclass(frozen=True)
class LinearQ:
    """Q̂(s, a) = ηᵀφ(s, a). state : float64[F]. action : float64[G]. own : float64[A, K]."""

    state: NDArray[np.float64]
    action: NDArray[np.float64]
    own: NDArray[np.float64]

    def values(self, phi: Phi) -> NDArray[np.float64]:
        """Return Q̂ of every action, float64[A]."""
        common = phi.state @ self.state + phi.action @ self.action
        return np.asarray(common + np.einsum("ak,ak->a", phi.own, self.own))


ALWAYS = 1e6
"""A loyalty from which on a guide is never departed from."""

HIGHEST = 1e300
"""A level that no Q̂ is above; finite, to be written down."""


@dataclass(frozen=True)
class LearnedPolicy:
    """The action of largest Q̂ (D-NM; D-M with γ = 0), or the guide's where that is about as good.

    stop_below : it stops where the guide has nothing left and no Q̂ is above this.
    guide : a static sequence to depart from. loyalty : the largest Q̂ must exceed that of the guide's next
    action by more than this share of itself; see `ALWAYS`.
    """

    q: LinearQ
    stop_below: float = -np.inf
    guide: tuple[int, ...] = ()
    loyalty: float = 0.0

    @property
    def only_follows(self) -> bool:
        """Whether its guide decides everything."""
        return bool(self.guide) and self.loyalty >= ALWAYS and self.stop_below >= HIGHEST

    def choose(self, situation: Situation) -> int | None:
        """Return the guide's next action, or the offered one of largest Q̂ where that promises enough more."""
        if not situation.offered.any():
            return None
        values = np.where(situation.offered, self.q.values(situation.phi), -np.inf)
        best = int(np.argmax(values))
        upcoming = remaining(self.guide, situation.taken)
        guided = next((action for action in upcoming if situation.offered[action]), None)
        if guided is None:
            return best if values[best] > self.stop_below else None
        promise = values[best] - values[guided]
        departs = self.loyalty < ALWAYS and promise > self.loyalty * abs(values[best])
        return best if departs else guided


@dataclass(frozen=True)
class StaticPolicy:
    """The same sequence of actions for every image (S-M); what is not offered is passed over."""

    sequence: tuple[int, ...]

    def choose(self, situation: Situation) -> int | None:
        """Return the next action of the sequence that is offered."""
        upcoming = remaining(self.sequence, situation.taken)
        return next((action for action in upcoming if situation.offered[action]), None)


def remaining(sequence: tuple[int, ...], taken: tuple[int, ...]) -> tuple[int, ...]:
    """What is left of a sequence after these actions; those that are not in the rest of it do not count."""
    for action in taken:
        if action in sequence:
            sequence = sequence[sequence.index(action) + 1 :]
    return sequence


class RandomPolicy:
    """Any offered action, all equally likely (RS)."""

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random

    def choose(self, situation: Situation) -> int | None:
        """Return a random offered action."""
        choices = np.flatnonzero(situation.offered)
        return int(self._random.choice(choices)) if len(choices) else None


@dataclass(frozen=True)
class NoisyPolicy:
    """Another policy that now and then takes any offered action instead, to explore."""

    policy: Policy
    noise: float
    random: np.random.Generator

    def choose(self, situation: Situation) -> int | None:
        """Return the other policy's choice, or with probability `noise` a random one."""
        if self.random.random() < self.noise:
            return RandomPolicy(self.random).choose(situation)
        return self.policy.choose(situation)
