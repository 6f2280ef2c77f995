"""Learning a stream policy (D-NM) by policy iteration over simulated streams, and its rivals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from anyscene.policy.stream_section import FEATURES
from anyscene.streams.policies import NOTHING, FixedPeriod, LearnedStreamPolicy, OraclePolicy, StreamPolicy
from anyscene.streams.simulation import Choice, Moment, by, outcome, simulate

Floats = NDArray[np.float64]
Coefficients = Floats | Sequence[Sequence[float]]
"""A row for each look of a pool."""

PERIODS = (1, 2, 3, 4, 6, 8, 12, 16)
"""Frames from look to look that the fixed rival (S-M) is tried with."""


@dataclass(frozen=True)
class StreamSettings:
    """How a stream policy is learned.

    gamma : how much a frame counts beside the one before it. horizon : frames that are looked ahead. prices :
    loss for the cost of a finest look, from low to high; the policy is learned at the one in the middle.
    ridge : weight of the penalty on coefficients. noise : share of random looks in rollouts. iterations : of
    the policy. every : of so many moments on a rollout, one is learned from.
    """

    gamma: float = 0.9
    horizon: int = 10
    prices: tuple[float, ...] = (0.001, 0.002, 0.004, 0.006, 0.01, 0.015, 0.02, 0.03, 0.05, 0.08, 0.16)
    ridge: float = 1e-2
    noise: float = 0.2
    iterations: int = 3
    every: int = 3


def savings(
    moment: Moment, pool: Sequence[int], choose: Choice, price: float, settings: StreamSettings
) -> Floats:
    """The loss that each look of a pool truly saves over the frames to come, given later choices.

    Q(s, a) = Σₖ γᵏ (lossₖ without a − lossₖ with a), where what is spent later counts as loss, too.
    """
    without = _to_come(moment, NOTHING, choose, price, settings)
    return np.array([without - _to_come(moment, look, choose, price, settings) for look in pool])


def _to_come(moment: Moment, action: int, choose: Choice, price: float, settings: StreamSettings) -> float:
    """Discounted loss and cost of the frames after an action."""
    total, weight = 0.0, 1.0
    for _ in range(settings.horizon):
        if moment.is_last:
            break
        moment = moment.after(action)
        action = choose(moment)
        total += weight * (moment.loss + price * float(moment.costs[action]))
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
    features: list[tuple[float, ...]] = []
    targets: list[Floats] = []
    best: tuple[float, Floats] | None = None
    for iteration in range(settings.iterations):
        choose = by(policy)
        for start in starts:
            passed = simulate(start, _noisy(choose, pool, settings.noise, random))
            for moment, _ in passed[int(random.integers(settings.every)) :: settings.every]:
                if not moment.is_last:
                    features.append(moment.situation.features)
                    targets.append(savings(moment, pool, choose, price, settings))
        coefficients = _fitted(np.array(features), np.array(targets), settings.ridge)
        policy = at_price(pool, coefficients, price)
        reached = outcome(held_out, by(policy))
        report(
            f"iteration {iteration}: {len(features)} moments, held out {reached.loss:.4f} nats "
            f"in {reached.spent:.3f} finest looks a frame"
        )
        objective = reached.loss + price * reached.spent
        if best is None or objective < best[0]:
            best = objective, coefficients
    assert best is not None
    return with_spends(pool, best[1], settings.prices, starts)


def at_price(pool: tuple[int, ...], coefficients: Coefficients, price: float) -> LearnedStreamPolicy:
    """The policy that always pays one price."""
    return LearnedStreamPolicy(pool, _rows(coefficients), (price,), (0.0,))


def with_spends(
    pool: tuple[int, ...], coefficients: Coefficients, prices: Sequence[float], starts: Sequence[Moment]
) -> LearnedStreamPolicy:
    """Note what the policy spends at each price, so that it can keep to any income."""
    spends = [outcome(starts, by(at_price(pool, coefficients, price))).spent for price in prices]
    falling = np.minimum.accumulate(spends).tolist()
    return LearnedStreamPolicy(pool, _rows(coefficients), tuple(prices), tuple(falling))


def _rows(coefficients: Coefficients) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(map(float, row)) for row in coefficients)


def oracle(policy: LearnedStreamPolicy, price: float, settings: StreamSettings) -> Choice:
    """Choose by what each look truly saves if a policy decides after it; for comparison only."""

    def choose(moment: Moment) -> int:
        true = savings(moment, policy.pool, by(policy), price, settings)
        return OraclePolicy(policy.pool, true.tolist(), price).choose(moment.situation)

    return choose


def fixed_policies(looks: int, periods: Sequence[int] = PERIODS) -> list[FixedPeriod]:
    """Every look at every period: S-M is the best of them for what it spends."""
    return [FixedPeriod(look, period) for look in range(1, looks + 1) for period in periods]


def _noisy(choose: Choice, pool: tuple[int, ...], noise: float, random: np.random.Generator) -> Choice:
    """Now and then look at random, to explore."""

    def explore(moment: Moment) -> int:
        return int(random.choice((NOTHING, *pool))) if random.random() < noise else choose(moment)

    return explore


def _fitted(features: Floats, targets: Floats, weight: float) -> Floats:
    """Coefficients float64[A, F] of the targets float64[n, A]; features count alike, whatever their units.

    None is negative: what is lacking, moved or old can only make a look worth more. So a policy that may
    spend freely looks at every frame that moves.
    """
    scale = np.maximum(np.sqrt((features**2).mean(axis=0)), 1e-9)
    scaled = features / (scale * np.sqrt(len(features)))
    penalised = np.vstack([scaled, np.sqrt(weight) * np.eye(len(FEATURES))])
    wanted = np.vstack([targets / np.sqrt(len(targets)), np.zeros((len(FEATURES), targets.shape[1]))])
    return np.array([nnls(penalised, column)[0] / scale for column in wanted.T])
