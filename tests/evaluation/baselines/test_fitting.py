"""The folds that baselines are stacked by."""

from anyscene.evaluation.baselines.fitting import stacking_folds


def test_each_half_is_cut_in_two_with_neighbours_together(streets):
    folds = stacking_folds(streets)
    assert set(folds) == set(streets.split("train").ids)
    for half, pair in (("a", {0, 1}), ("b", {2, 3})):
        numbers = [folds[id] for id in streets.split(half).ids]
        assert set(numbers) == pair
        assert numbers == sorted(numbers)
        assert abs(numbers.count(min(pair)) - numbers.count(max(pair))) <= 1
