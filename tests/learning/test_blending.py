"""Blends: the weights of least cross-entropy over sources that speak of classes."""

import numpy as np

from anyscene import metrics
from anyscene.learning.learners.blending import fit_blend, with_fair_prior

CLASSES = 4
RARE_POWER = 0.15


def sources(count=3000, seed=0):
    """Truth, and two opinions about it that are right independently of each other."""
    random = np.random.default_rng(seed)
    label = random.integers(0, CLASSES, count)
    truth = np.eye(CLASSES, dtype=np.float32)[label]
    logs = [1.5 * truth + random.normal(size=truth.shape) for _ in range(2)]
    chances = [np.exp(log) / np.exp(log).sum(axis=1, keepdims=True) for log in logs]
    return truth, [chance.astype(np.float32) for chance in chances]


def test_independent_opinions_add_up():
    truth, chances = sources()
    prior = np.full(CLASSES, 1 / CLASSES, np.float32)
    blend = fit_blend(truth, np.ones(len(truth), np.float32), chances, prior, 0.0)
    np.testing.assert_allclose(blend.weight, [1.5, 1.5], atol=0.15)
    belief = blend.beliefs(chances)
    right = belief.argmax(axis=1) == truth.argmax(axis=1)
    assert right.mean() > max((c.argmax(axis=1) == truth.argmax(axis=1)).mean() for c in chances) + 0.05
    np.testing.assert_allclose(belief.sum(axis=1), 1, rtol=1e-5)


def test_fresh_evidence_takes_the_place_of_stale():
    """An opinion that holds an old one already: the old one is not counted twice."""
    truth, (old, other) = sources()
    both = np.log(old) + np.log(other)
    both = np.exp(both) / np.exp(both).sum(axis=1, keepdims=True)
    prior = np.full(CLASSES, 1 / CLASSES, np.float32)
    chances = [old, both.astype(np.float32)]
    blend = fit_blend(truth, np.ones(len(truth), np.float32), chances, prior, 0.0)
    np.testing.assert_allclose(blend.weight, [0.0, 1.5], atol=0.15)


def test_the_priors_weight_undoes_class_weights():
    """Scores that know no prior get it by one weight, but for what rare classes are given."""
    random = np.random.default_rng(0)
    prior = np.array([0.7, 0.2, 0.08, 0.02], np.float32)
    label = random.choice(CLASSES, 20_000, p=prior.astype(float) / prior.sum(dtype=float))
    truth = np.eye(CLASSES, dtype=np.float32)[label]
    logs = 2 * truth + random.normal(size=truth.shape)  # likelihood ratios: no prior in them
    chances = np.exp(2 * logs)
    chances = (chances / chances.sum(axis=1, keepdims=True)).astype(np.float32)
    blend = fit_blend(truth, np.ones(len(truth), np.float32), [chances], prior, RARE_POWER)
    np.testing.assert_allclose(blend.bias, (1 - RARE_POWER) * np.log(prior), rtol=0.1)


def test_the_prior_counts_only_as_far_as_rare_classes_do_not_lose_by_it():
    random = np.random.default_rng(0)
    prior = np.array([0.7, 0.2, 0.08, 0.02], np.float32)
    label = random.choice(CLASSES, 20_000, p=prior.astype(float) / prior.sum(dtype=float))
    truth = np.eye(CLASSES, dtype=np.float32)[label]
    logs = truth + random.normal(size=truth.shape)  # so vague that the prior says more
    chances = np.exp(logs)
    chances = [(chances / chances.sum(axis=1, keepdims=True)).astype(np.float32)]
    weight = np.ones(len(truth), np.float32)
    blend = fit_blend(truth, weight, chances, prior, 0.0)
    fair = with_fair_prior(blend, truth, weight, chances)

    def scores(one):
        given = one.beliefs(chances).argmax(axis=1)
        counts = np.zeros((CLASSES, CLASSES + 1), np.int64)
        np.add.at(counts, (label, given), 1)
        return metrics.pixel_accuracy(counts), metrics.mean_iou(counts)

    np.testing.assert_array_equal(fair.weight, blend.weight)
    assert np.abs(fair.bias).max() < np.abs(blend.bias).max()
    assert scores(fair)[0] < scores(blend)[0]
    assert scores(fair)[1] > scores(blend)[1]
    assert sum(scores(fair)) > sum(scores(blend))


def test_a_prior_that_costs_no_class_anything_keeps_its_weight():
    truth, chances = sources()
    prior = np.full(CLASSES, 1 / CLASSES, np.float32)
    weight = np.ones(len(truth), np.float32)
    blend = fit_blend(truth, weight, chances, prior, 0.0)
    fair = with_fair_prior(blend, truth, weight, chances)
    np.testing.assert_array_equal(fair.beliefs(chances).argmax(axis=1), blend.beliefs(chances).argmax(axis=1))
