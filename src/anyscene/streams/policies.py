"""Who decides when to look and how closely: one protocol for the learned stream policy and its rivals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from typing import Protocol

import numpy as np

from anyscene.policy.stream_section import StreamSection
from anyscene.streams.memory import SETTLED_DOUBT

NOTHING = 0
"""The action that leaves beliefs as they are; action k is the k-th look, from the coarsest to the finest."""

NEVER = 1_000
"""Frames since the last look where there was none: every period has passed."""


@dataclass(frozen=True)
class Situation:
    """All that a stream policy may look at when a frame has come.

    age_ms : since the newest frame that was looked at arrived. moved : how far the image moved since then, in
    widths of the frame. doubted : the share of trust that beliefs lack. entropy : of the beliefs after the
    last look, in nats. frames : how many came since the last look. income : CPU time that may be spent a
    frame, on average. costs : of each action. offered : which actions the credit pays for; NOTHING always is
    one. Costs and income are in units of the finest look.

    All are plain numbers: in a call that follows a pause, the first use of numpy's machinery takes longer
    than the decision.
    """

    age_ms: float
    moved: float
    doubted: float
    entropy: float
    frames: int
    income: float
    costs: Sequence[float]
    offered: Sequence[bool]

    @property
    def features(self) -> tuple[float, ...]:
        """What Q̂ is a linear function of, in the order of FEATURES."""
        way = min(self.moved, 1.0)
        age = min(self.age_ms / 1e3, 2.0) if way > 0 else 0.0  # what does not move does not age
        lacking = max(0.0, self.doubted - SETTLED_DOUBT)
        return lacking, lacking**2, lacking * self.entropy, way, age


class StreamPolicy(Protocol):
    """Picks an offered action for each frame."""

    def choose(self, situation: Situation) -> int:
        """Return the index of an offered action."""
        ...


@dataclass(frozen=True)
class FixedPeriod:
    """The same look every few frames (S-M); where the credit does not pay for it, as soon as it does."""

    look: int
    period: int

    def choose(self, situation: Situation) -> int:
        """Return the look when it is due and offered."""
        due = situation.frames >= self.period and situation.offered[self.look]
        return self.look if due else NOTHING


@dataclass(frozen=True)
class DoubtThreshold:
    """One look whenever beliefs are doubted by more than a level; for models without a stream policy."""

    look: int
    level: float

    def choose(self, situation: Situation) -> int:
        """Return the look when beliefs are doubted and it is offered."""
        return self.look if situation.doubted > self.level and situation.offered[self.look] else NOTHING


@dataclass(frozen=True)
class LearnedStreamPolicy:
    """The action that saves most loss over the frames to come, less its price (D-NM).

    pool : the looks to choose among. coefficients : a row for each of them, Q̂(s, a) =
    coefficients[a]·features(s), the loss that a look saves over the frames to come. prices : from low to
    high, the loss that the cost of a finest look must save. spends : what the policy spends a frame at each
    price, in finest looks, from much to little.
    """

    pool: tuple[int, ...]
    coefficients: tuple[tuple[float, ...], ...]
    prices: tuple[float, ...]
    spends: tuple[float, ...]

    @classmethod
    def of_section(cls, section: StreamSection) -> LearnedStreamPolicy:
        """The policy that a model file holds."""
        return cls(section.pool, section.coefficients, section.prices, section.spends)

    def to_section(self, looks: tuple[str, ...]) -> StreamSection:
        """The policy as a model file holds it, with the names of the looks."""
        return StreamSection(
            looks=looks,
            pool=self.pool,
            coefficients=self.coefficients,
            prices=self.prices,
            spends=self.spends,
        )

    def price(self, income: float) -> float:
        """The lowest price at which the policy spends no more than it may."""
        return self.prices[min(sum(spent > income for spent in self.spends), len(self.prices) - 1)]

    def choose(self, situation: Situation) -> int:
        """Return the offered action of the largest gain."""
        features = situation.features
        saved = [sum(map(mul, row, features)) for row in self.coefficients]
        return best_look(self.pool, saved, self.price(situation.income), situation)


class RandomStreamPolicy:
    """Any offered action (RS). share : how often it looks at all."""

    def __init__(self, random: np.random.Generator, share: float = 0.5) -> None:
        self._random = random
        self._share = share

    def choose(self, situation: Situation) -> int:
        """Return NOTHING or a random look."""
        looks = np.flatnonzero(situation.offered[1:]) + 1
        looks_now = len(looks) > 0 and self._random.random() < self._share
        return int(self._random.choice(looks)) if looks_now else NOTHING


@dataclass(frozen=True)
class OraclePolicy:
    """The look that truly saves most, less its price; made for one moment, whose truth is known.

    savings : the loss that each look saves over the frames to come.
    """

    pool: tuple[int, ...]
    savings: Sequence[float]
    price: float

    def choose(self, situation: Situation) -> int:
        """Return the offered look of the largest true gain."""
        return best_look(self.pool, self.savings, self.price, situation)


def best_look(pool: Sequence[int], savings: Sequence[float], price: float, situation: Situation) -> int:
    """The offered look that saves most beyond its price; NOTHING where none does."""
    best, most = NOTHING, 0.0
    for look, saved in zip(pool, savings, strict=True):
        gain = saved - price * situation.costs[look]
        if situation.offered[look] and gain > most:
            best, most = look, gain
    return best
