"""The staircase's rows on small worlds: every row labels better than the prior does."""

import numpy as np
import pytest

from anyscene.learning.learners.boosting import BoostingSettings
from anyscene.learning.proposals.greedy import GreedySettings
from benchmarks import staircase
from benchmarks.figures import Request
from tests.worlds import LAYERS, learnable_corpus, some_costs, worlds_to_learn_from

SETTINGS = GreedySettings(
    sizes=(5, 20),
    steps=3,
    samples=3000,
    screening_samples=1000,
    boosting=BoostingSettings(depth=2, least_curvature=3.0, column_share=0.5),
)


@pytest.fixture(scope="module")
def task():
    corpus = learnable_corpus(worlds_to_learn_from())
    return staircase.Task(corpus, corpus.held_out, some_costs())


@pytest.fixture(scope="module")
def prior(task):
    return task.jury.measure(task.jury.start()[0]).accuracy


def test_without_data_every_figure_is_skipped():
    figures = list(staircase.run(Request()))
    assert len(figures) == 3
    assert all(figure.skipped for figure in figures)


def test_the_yardstick_and_our_trees_learn_what_the_features_tell(task, prior, monkeypatch):
    monkeypatch.setattr(staircase, "LAYERS", LAYERS)
    monkeypatch.setitem(staircase.CLASSIFIER, "min_samples_leaf", 5)
    assert staircase.yardstick(task) > prior + 0.1
    assert staircase.direct(task, SETTINGS) > prior + 0.1


def test_a_script_and_the_greedy_sequence_learn_what_the_features_tell(task, prior):
    script = (staircase.EVERYTHING, staircase.EVERYTHING, 1)
    assert staircase.follow(task, script, range(len(task.corpus.sets)), SETTINGS) > prior + 0.1
    curve = staircase.greedy_curve(task, SETTINGS)
    assert curve[-1].accuracy > prior + 0.1
    assert np.all(np.diff([measured.cost for measured in curve]) > 0)
