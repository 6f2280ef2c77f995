"""Who picks the next action: one protocol for the learned policy and everything it is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from anyscene.model.action_costs import Coverage
from anyscene.model.actions import Pool
from anyscene.model.state import State
from anyscene.policy.phi import Phi, describe


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
    """Q̂(s, a) = ηᵀφ(s, a) (Eq. 8). state : float64[F]. action : float64[G]. own : float64[A, K]."""

    state: NDArray[np.float64]
    action: NDArray[np.float64]
    own: NDArray[np.float64]

    def values(self, phi: Phi) -> NDArray[np.float64]:
        """Return Q̂ of every action, float64[A]."""
        common = phi.state @ self.state + phi.action @ self.action
        return np.asarray(common + np.einsum("ak,ak->a", phi.own, self.own))


@dataclass(frozen=True)
class StaticPolicy:
    """The same sequence of actions for every image (S-M); what is not offered is passed over."""

    sequence: tuple[int, ...]

    @property
    def guide(self) -> tuple[int, ...]:
        """The sequence itself: the policy departs from nothing."""
        return self.sequence

    def choose(self, situation: Situation) -> int | None:
        """Return the next action of the sequence that is offered."""
        upcoming = remaining(self.sequence, situation.taken)
        return next((action for action in upcoming if situation.offered[action]), None)


@dataclass(frozen=True)
class LearnedPolicy:
    """The action of largest Q̂ (Eq. 9; D-NM, or D-M with γ = 0), or the guide's where that is about as good.

    guide : a static sequence to depart from; it may be empty.
    margin : it departs where the largest Q̂ exceeds that of the guide's next action by more than this share of
    itself; never, if the margin is infinite.
    stop_below : after the guide's end it goes on while some Q̂ is above this level.
    """

    q: LinearQ
    stop_below: float = -np.inf
    guide: tuple[int, ...] = ()
    margin: float = 0.0

    def choose(self, situation: Situation) -> int | None:
        """Return the guide's next action, or the offered one of largest Q̂ where that promises enough more."""
        if not situation.offered.any():
            return None
        values = np.where(situation.offered, self.q.values(situation.phi), -np.inf)
        best = int(np.argmax(values))
        guided = StaticPolicy(self.guide).choose(situation)
        if guided is None:
            return best if values[best] > self.stop_below else None
        if np.isinf(self.margin):
            return guided
        return best if values[best] - values[guided] > self.margin * abs(values[best]) else guided

    def simplified(self) -> LearnedPolicy | StaticPolicy:
        """The guide alone, where this policy never departs from it and stops at its end."""
        never_departs = np.isposinf(self.margin) and np.isposinf(self.stop_below)
        return StaticPolicy(self.guide) if self.guide and never_departs else self


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
