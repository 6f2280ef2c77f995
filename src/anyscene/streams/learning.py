"""Learning a stream policy (D-NM) by policy iteration over simulated streams, and its fixed rival (S-M)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyscene.policy.stream_section import FEATURES
from anyscene.streams.policies import (
    NOTHING,
    FixedPeriod,
    LearnedStreamPolicy,
    OraclePolicy,
    Situation,
    StreamPolicy,
)
from anyscene.streams.simulation import Moment, Outcome, outcome, simulate

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class StreamSettings:
    """How a stream policy is learned.

    gamma : how much a frame counts beside the one before it. horizon : frames that are looked ahead. prices :
    loss for a millisecond of CPU time, from low to high; the policy is learned at the one in the middle.
    ridge : weight of the penalty on coefficients. noise : share of random looks in rollouts. iterations : of
    the policy. every : of so many moments on a rollout, one is learned from.
    """

    gamma: float = 0.9
    horizon: int = 10
    prices: tuple[float, ...] = (5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 1.5e-3, 2e-3, 3e-3, 5e-3, 8e-3)
    ridge: float = 1e-2
    noise: float = 0.2
    iterations: int = 3
    every: int = 3


def savings(
    moment: Moment, pool: Sequence[int], policy: StreamPolicy, price: float, settings: StreamSettings
) -> Floats:
    """The loss that each look of a pool truly saves over the frames to come, if the policy decides after it.

    Q(s, a) = Σₖ γᵏ (lossₖ without a − lossₖ with a), where the CPU time that the policy spends later counts
    as loss, too.
    """
    without = _to_come(moment, NOTHING, policy, price, settings)
    return np.array([without - _to_come(moment, look, policy, price, settings) for look in pool])


def _to_come(
    moment: Moment, action: int, policy: StreamPolicy, price: float, settings: StreamSettings
) -> float:
    """Discounted loss and cost of the frames after an action."""
    total, weight = 0.0, 1.0
    for _ in range(settings.horizon):
        if moment.is_last:
            break
        moment = moment.after(action)
        action = policy.choose(moment.situation)
        total += weight * (moment.loss + price * float(moment.costs_ms[action]))
        weight *= settings.gamma
    return total


def learn(
    starts: Sequence[Moment],
    held_out: Sequence[Moment],
    pool: tuple[int, ...],
    settings: StreamSettings,
    random: np.random.Generator,
    report: Callable[[str], None] = lambda text: None,
) -> LearnedStreamPolicy:
    """Learn a policy that chooses among the looks of a pool; keep the best on held-out clips.

    Each iteration rolls out the policy so far, tries every look at the moments passed, and fits Q̂ anew.
    """
    price = settings.prices[len(settings.prices) // 2]
    policy: StreamPolicy = FixedPeriod(pool[-1], 2)
    features: list[Floats] = []
    targets: list[Floats] = []
    best: tuple[float, Floats] | None = None
    for iteration in range(settings.iterations):
        for start in starts:
            passed = simulate(start, _Noisy(policy, pool, settings.noise, random))
            for moment, _ in passed[int(random.integers(settings.every)) :: settings.every]:
                if not moment.is_last:
                    features.append(moment.situation.features)
                    targets.append(savings(moment, pool, policy, price, settings))
        coefficients = _ridge(np.array(features), np.array(targets), settings.ridge)
        policy = at_price(pool, coefficients, price)
        reached = outcome(held_out, policy)
        objective = reached.loss + price * reached.cpu_ms
        report(
            f"iteration {iteration}: {len(features)} moments, "
            f"held out {reached.loss:.4f} nats in {reached.cpu_ms:.2f} ms"
        )
        if best is None or objective < best[0]:
            best = objective, coefficients
    assert best is not None
    return with_spends(pool, best[1], settings.prices, starts)


def at_price(pool: tuple[int, ...], coefficients: Floats, price: float) -> LearnedStreamPolicy:
    """The policy that always pays one price."""
    return LearnedStreamPolicy(pool, coefficients, np.array([price]), np.array([0.0]))


def with_spends(
    pool: tuple[int, ...], coefficients: Floats, prices: Sequence[float], starts: Sequence[Moment]
) -> LearnedStreamPolicy:
    """Note what the policy spends at each price, so that it can keep to any income."""
    spends = [outcome(starts, at_price(pool, coefficients, price)).cpu_ms for price in prices]
    return LearnedStreamPolicy(pool, coefficients, np.array(prices), np.minimum.accumulate(spends))


def oracle(
    moment: Callable[[], Moment], policy: LearnedStreamPolicy, price: float, settings: StreamSettings
) -> OraclePolicy:
    """The policy that knows what each look truly saves if another policy decides after it.

    moment : gives the one at hand.
    """
    return OraclePolicy(policy.pool, lambda: savings(moment(), policy.pool, policy, price, settings), price)


def fixed_policies(looks: int, periods: Sequence[int] = (1, 2, 3, 4, 6, 8, 12, 16)) -> list[FixedPeriod]:
    """Every look at every period: S-M is the best of them for what it spends."""
    return [FixedPeriod(look, period) for look in range(1, looks + 1) for period in periods]


def frontier(starts: Sequence[Moment], policies: Sequence[StreamPolicy], skipped: int = 0) -> list[Outcome]:
    """What policies come to, from cheap to dear."""
    return sorted((outcome(starts, policy, skipped) for policy in policies), key=lambda each: each.cpu_ms)


def _ridge(features: Floats, targets: Floats, weight: float) -> Floats:
    """Coefficients float64[A, F] of the targets float64[n, A]; features count alike, whatever their units."""
    scale = np.maximum(np.sqrt((features**2).mean(axis=0)), 1e-9)
    scaled = features / scale
    gram = scaled.T @ scaled / len(scaled) + weight * np.eye(len(FEATURES))
    return np.asarray(np.linalg.solve(gram, scaled.T @ targets / len(scaled)).T / scale)


@dataclass(frozen=True)
class _Noisy:
    """Another policy that now and then looks at random, to explore."""

    policy: StreamPolicy
    pool: tuple[int, ...]
    noise: float
    random: np.random.Generator

    def choose(self, situation: Situation) -> int:
        if self.random.random() < self.noise:
            return int(self.random.choice((NOTHING, *self.pool)))
        return self.policy.choose(situation)
