"""From beliefs to labels: along outlines, wherever there was time to follow them."""

import numpy as np
import pytest

from anyscene.streams import showing
from anyscene.streams.memory import Carried, memory_of
from anyscene.streams.motion import sight_of
from anyscene.streams.showing import Painter, labels_of

CLASSES = 4


@pytest.fixture(scope="module")
def frame(streets):
    return streets.split("val").image(0)


@pytest.fixture
def believed(frame):
    grid = sight_of(frame).grid
    scores = np.random.default_rng(0).normal(0, 1, (*grid, CLASSES)).astype(np.float32)
    return memory_of(scores, 1.0, 0.0)


def test_outlines_are_followed_in_a_call_only_where_nobody_did_before(frame, believed, monkeypatch):
    sight, size = sight_of(frame), frame.shape[:2]
    followed = labels_of(believed.scores, frame, sight, size)
    assert (followed != labels_of(believed.scores, frame, sight, size, outlines=False)).any()
    assert (Painter().labels(Carried(believed), frame, sight, size, 1e3) == followed).all()
    before = believed.along_outlines(sight)
    monkeypatch.delattr(showing, "follow_outlines")
    assert (Painter().labels(Carried(before), frame, sight, size, 1e3) == followed).all()


def test_whole_cells_show_what_was_mixed_along_outlines(frame, believed):
    before = believed.along_outlines(sight_of(frame))
    assert (Carried(before).best() == before.outlined.argmax(axis=2)).all()
    assert (Carried(believed).best() == believed.scores.argmax(axis=2)).all()


def test_where_time_is_short_shades_alone_decide_and_then_nothing(frame, believed):
    sight, size = sight_of(frame), frame.shape[:2]
    by_shades = labels_of(believed.scores, frame, sight, size, outlines=False)
    assert (Painter().labels(Carried(believed), frame, sight, size, 0.5) == by_shades).all()
    assert Painter().labels(Carried(believed), frame, sight, size, 0.1) is None
