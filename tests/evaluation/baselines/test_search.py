"""Coordinate search on functions whose best point is known."""

from dataclasses import dataclass

from anyscene.evaluation.baselines.search import coordinate_search


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
