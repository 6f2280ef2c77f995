"""Systems that are timed here are put on the model's scale of costs."""

from dataclasses import replace

import numpy as np
import pytest

from anyscene.evaluation.scores import Curve, Scores
from anyscene.evaluation.time_scale import in_model_time, measure_time_scale
from anyscene.modelfile import load_model


def test_a_model_that_counts_in_other_units_has_another_time_scale(model_file, streets):
    trained = load_model(model_file)
    costs = trained.model.costs
    names = ("start", "step", "region", "tree", "input", "grow", "pooling", "items")
    tenfold = replace(costs, **{name: 10 * getattr(costs, name) for name in names})
    dear = replace(trained, model=replace(trained.model, costs=tenfold), plans=())
    scenes = streets.split("val").pick(range(4))
    assert measure_time_scale(trained, scenes) > 3 * measure_time_scale(dear, scenes) > 0


def test_costs_alone_are_divided_by_the_ratio():
    curve = Curve(np.array([2.0, 6.0]), np.ones((2, 3, 4), np.int64), np.array([1.0, 0.5]))
    last = Curve(curve.cost[1:], curve.counts[1:], curve.loss[1:])
    scaled = in_model_time(Scores("CNN", False, curve, 6.0, last), 2.0)
    assert scaled.cost_ms == 3.0
    assert scaled.curve.cost == pytest.approx([1.0, 3.0])
    assert scaled.final.cost == pytest.approx([3.0])
    assert (scaled.curve.counts == curve.counts).all()
