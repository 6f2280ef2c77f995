"""Lazy evidence: the same numbers as from the whole tree, and nothing that was not asked for."""

import numpy as np

from anyscene.engine.evidence import LazyEvidence
from anyscene.features import RegionFeatures, View
from anyscene.features.sets import feature_set_class
from anyscene.hierarchy import LAYERS, Tree


def bank():
    return {name: feature_set_class(name)() for name in ("color", "position")}


def test_nothing_is_grown_or_extracted_before_it_is_needed(streets):
    evidence = LazyEvidence(streets.split("train")[0].image, bank())
    assert evidence.tree.depth == 1
    assert evidence.ledger.charges == []
    evidence.nodes(3)
    assert evidence.tree.depth == 4
    assert {charge.work.step for charge in evidence.ledger.charges} == {"grow:1", "grow:2", "grow:3"}


def test_gathered_features_are_those_of_the_whole_tree(streets):
    image = streets.split("train")[0].image
    tree = Tree(image)
    tree.grow(LAYERS)
    whole = RegionFeatures(bank(), View(image), tree)
    evidence = LazyEvidence(image, bank())
    columns = np.array([2, 0], np.int32)
    for finest in (1, 3, 5):
        nodes = evidence.nodes(finest)
        mixed = np.array(
            [nodes.start[finest], nodes.start[finest - 1], nodes.start[finest + 1] - 1], np.int32
        )
        expected = [
            whole.features("color", int(nodes.layer[node]))[node - nodes.start[nodes.layer[node]], columns]
            for node in mixed
        ]
        np.testing.assert_allclose(evidence.gather("color", mixed, columns), expected, rtol=1e-5)
