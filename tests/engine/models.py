"""A small model learned on generated scenes, for tests of what runs on models."""

import numpy as np

from anyscene.engine import Learned
from anyscene.features.sets import feature_set_class
from anyscene.hierarchy import LAYERS
from anyscene.learning.binning import fit_bins
from anyscene.learning.corpus import Corpus, Example, assign_folds
from anyscene.learning.extraction import branching, extract
from anyscene.learning.pool import combine
from anyscene.learning.proposals import ProposalSettings, greedy_sequence
from anyscene.learning.weak_learners import LearnerSettings
from anyscene.model.costs import ActionCosts
from anyscene.model.evidence import ArrayEvidence
from anyscene.model.policies import StaticPolicy
from anyscene.model.rollout import Model

SETS = ("color", "position")


def small_bank(threads: int = 1):
    return {name: feature_set_class(name)() for name in SETS}


def learn_small_model(dataset) -> Learned:
    """S-M on a few scenes: splits and updates in a fixed order, learned in seconds."""
    classes = len(dataset.classes)
    extracts = [extract(scene, small_bank(), classes) for scene in dataset.split("train")]
    bins = {name: fit_bins(np.concatenate([e.features[name] for e in extracts])) for name in SETS}
    folds = assign_folds(len(extracts), 2, 0.25)
    examples = [
        Example(
            e.id,
            ArrayEvidence(e.tree, {name: bins[name].apply(e.features[name]) for name in SETS}),
            e.truth,
            int(fold),
        )
        for e, fold in zip(extracts, folds, strict=True)
    ]
    corpus = Corpus(
        tuple(e for e in examples if e.fold >= 0),
        tuple(e for e in examples if e.fold < 0),
        2,
        SETS,
        bins,
        classes,
        LAYERS,
    )
    costs = made_up_costs(branching([e.tree for e in extracts]))
    settings = ProposalSettings(
        thresholds=(0.0, 0.6),
        lambdas=(0.0,),
        max_steps=8,
        learners=LearnerSettings(sizes=(1, 5), samples=4000, screening_samples=2000),
    )
    sequence = greedy_sequence(corpus, corpus.fit, costs, settings, np.random.SeedSequence(0))
    proposals = combine(corpus, [sequence], costs, settings, max_steps=8)
    model = Model(proposals.model.deployed(), costs, corpus.prior(), 8)
    return Learned(model, StaticPolicy(proposals.sequences[0]), small_bank, dataset.classes)


def made_up_costs(branching) -> ActionCosts:
    return ActionCosts(
        start=0.1,
        step=0.1,
        grow=np.linspace(0.1, 2, LAYERS),
        branching=branching,
        region=0.0005,
        tree=0.0001,
        input=0.0003,
        pooling=np.full((len(SETS), LAYERS), 0.1),
        items=np.array([0.3, 0.1]),
        requires=np.stack([np.eye(2, dtype=bool)] * LAYERS, axis=1),
    )
