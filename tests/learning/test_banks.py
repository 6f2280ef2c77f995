"""Which head of a backbone the rungs read, and what a model file keeps of it."""

import numpy as np
import pytest

from anyscene.features.hypercolumn.backbone import Backbone, read_backbone, shipped_backbone
from anyscene.features.hypercolumn.network import Head, head_from_arrays, head_to_arrays
from anyscene.learning.banks import choose_head, named_backbones, usual_sets

HEAD = Head(np.ones((5, 4), np.float32), np.zeros(5, np.float32), 3)


@pytest.fixture
def backbone():
    return Backbone({"few": ("a", "b"), "many": ("a", "b", "c")}, {}, {}, {}, {})


def test_a_head_with_the_same_classes_speaks_of_them(backbone):
    assert choose_head(backbone, ["a", "b"]) == ("few", True)


@pytest.mark.parametrize("names", [["b", "a"], ["lawn", "pond", "path", "shed"]])
def test_other_classes_read_the_head_that_tells_most_apart(backbone, names):
    assert choose_head(backbone, names) == ("many", False)


@pytest.mark.parametrize(("speaks", "classes"), [(True, 3), (False, 7)])
def test_a_model_file_tells_whose_classes_the_head_scores(speaks, classes):
    head, spoke = head_from_arrays(head_to_arrays(HEAD, speaks), classes)
    assert (head.classes, spoke) == (3, speaks)
    assert head.weight is HEAD.weight


def test_places_are_learned_with_only_beside_a_network_that_speaks_of_the_classes():
    names, ships = read_backbone(shipped_backbone()).classes["camvid"], named_backbones(None, "")
    assert "place" in usual_sets(names, ships)
    assert "place" not in usual_sets(names, {})
    assert "place" not in usual_sets(names[::-1], ships)
