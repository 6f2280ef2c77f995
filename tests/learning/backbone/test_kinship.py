"""What classes of one data set are in the words of another."""

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.train

from anyscene.features.hypercolumn.backbone import read_backbone, shipped_backbone  # noqa: E402
from anyscene.learning.backbone.kinship import KIN, meanings  # noqa: E402


@pytest.mark.parametrize("pair", KIN)
def test_every_word_and_every_meaning_is_a_class(pair):
    classes = read_backbone(shipped_backbone()).classes
    spoken, heard = (classes[name] for name in pair)
    table = meanings(spoken, heard, KIN[pair])
    assert set(KIN[pair]) <= set(spoken)
    assert set().union(*KIN[pair].values()) <= set(heard)
    for row, word in zip(table, spoken, strict=True):
        assert {heard[i] for i in row.nonzero()[:, 0]} == set(KIN[pair].get(word, ()))
