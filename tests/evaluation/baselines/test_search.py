"""Searches over functions whose best point is known."""

from dataclasses import dataclass

import numpy as np

from anyscene.evaluation.baselines.search import coordinate_search, surest_gain


@dataclass(frozen=True)
class Point:
    x: float = 0.0
    y: float = 0.0


GRID = {"x": (0.0, 1.0, 2.0, 3.0), "y": (0.0, 1.0, 2.0, 3.0)}


def test_finds_the_best_of_separable_functions():
    assert coordinate_search(Point(), GRID, lambda p: -((p.x - 2) ** 2) - (p.y - 1) ** 2) == Point(2.0, 1.0)


def test_the_start_wins_ties_and_nothing_is_scored_twice():
    tried = []

    def score(point):
        tried.append(point)
        return 0.0

    assert coordinate_search(Point(), GRID, score) == Point()
    assert len(tried) == len(set(tried))


def test_further_rounds_follow_what_the_first_found():
    def ridge(point):
        return point.x * (point.y - 1.5) - abs(point.y - point.x)  # x pays only once y is large

    assert coordinate_search(Point(0.0, 0.0), {"x": (0.0, 3.0), "y": (3.0,)}, ridge) == Point()
    assert coordinate_search(Point(0.0, 2.0), GRID, ridge, rounds=1) == Point(2.0, 3.0)
    assert coordinate_search(Point(0.0, 2.0), GRID, ridge, rounds=3) == Point(3.0, 3.0)


def test_a_small_gain_on_every_image_beats_a_large_one_on_a_few():
    """x gains a little everywhere up to 1; beyond, it gains much on the hardest images and harms the rest."""
    hard = np.arange(20) < 4
    noise = np.random.default_rng(0).normal(scale=1e-3, size=20)

    def accuracies(point):
        over = max(0.0, point.x - 1)
        return 0.9 + 0.01 * min(point.x, 1) + over * np.where(hard, 0.2, -0.02) + noise * point.x

    means = {x: accuracies(Point(x)).mean() for x in GRID["x"]}
    assert max(means, key=means.get) == 3
    assert surest_gain(Point(), GRID, accuracies).x == 1


def test_gains_by_chance_leave_the_start():
    def accuracies(point):
        seed = int(10 * point.x + point.y)
        return 0.9 + (seed > 0) * np.random.default_rng(seed).normal(scale=0.01, size=2000) / 2000

    assert surest_gain(Point(), {"x": (1.0,), "y": (1.0,)}, accuracies) == Point()
    assert surest_gain(Point(), GRID, lambda point: np.full(5, 0.9)) == Point()
