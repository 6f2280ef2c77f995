"""Beliefs from frame to frame: mixed by trust, moved along, shown."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anyscene.streams.memory import KEEP, Carried, Memory, merged, shown
from anyscene.streams.motion import Motion, no_motion

GRID, CLASSES = (6, 8), 3


def memory(seed, trust=1.0, seen_ms=0.0):
    scores = np.random.default_rng(seed).normal(0, 2, (*GRID, CLASSES)).astype(np.float32)
    return Memory(scores, np.full(GRID, trust, np.float32), seen_ms)


trusts = st.floats(0.01, 2.0)


@given(st.integers(0, 99), trusts, trusts)
def test_a_mixture_lies_between_what_is_mixed(seed, old, new):
    older, newer = memory(seed, old), memory(seed + 1, new, 10.0)
    mixed = merged(Carried(older), newer)
    low, high = np.minimum(older.scores, newer.scores), np.maximum(older.scores, newer.scores)
    assert (mixed.scores >= low - 1e-4).all()
    assert (mixed.scores <= high + 1e-4).all()
    assert mixed.seen_ms == 10.0


@given(trusts)
def test_trust_settles_however_often_one_looks(first):
    held = memory(0, first)
    for turn in range(24):
        held = merged(Carried(held), memory(turn))
    assert np.allclose(held.trust, 1 / (1 - KEEP), atol=0.01)


def test_what_is_trusted_more_decides():
    older, newer = memory(0, 0.01), memory(1, 1.0)
    assert np.abs(merged(Carried(older), newer).scores - newer.scores).max() < 0.1


def test_no_motion_changes_nothing_and_mismatch_costs_trust():
    held, still = memory(2), no_motion(GRID)
    assert np.allclose(Carried(held, still).memory.scores, held.scores)
    doubted = Carried(held, Motion(still.columns, still.rows, np.full(GRID, 0.25, np.float32), 0.1))
    assert np.allclose(doubted.trust, 0.25)
    assert doubted.moved == doubted.memory.moved == 0.1
    assert doubted.doubt > Carried(held).doubt


def test_the_likeliest_classes_move_as_beliefs_do():
    held, still = memory(4), no_motion(GRID)
    a_cell_to_the_left = Motion(still.columns + 1, still.rows, still.match, 0.1)
    assert (Carried(held).best() == held.scores.argmax(axis=2)).all()
    moved = Carried(held, a_cell_to_the_left)
    assert (moved.best() == moved.memory.scores.argmax(axis=2)).all()
    assert (moved.best()[:, :-1] == held.best[:, 1:]).all()


def test_showing_never_changes_the_best_class_of_a_cell():
    held = memory(3, 0.1)
    assert (shown(held).argmax(axis=2) == held.scores.argmax(axis=2)).all()


def test_entropy_of_beliefs_that_know_nothing_is_that_of_equal_chances():
    flat = Memory(np.zeros((*GRID, CLASSES), np.float32), np.ones(GRID, np.float32), 0.0)
    assert np.isclose(flat.entropy, np.log(CLASSES), atol=1e-4)


def test_doubt_is_a_mean_over_the_moved_trust():
    random = np.random.default_rng(5)
    held = Memory(memory(5).scores, random.uniform(0, 2, GRID).astype(np.float32), 0.0)
    still = no_motion(GRID)
    two_cells_to_the_left = Motion(still.columns + 2, still.rows, random.random(GRID).astype(np.float32), 0.1)
    for carried in (Carried(held), Carried(held, two_cells_to_the_left)):
        assert np.isclose(carried.doubt, (1 / (1 + carried.trust))[::2, ::2].mean(), atol=1e-5)
    assert Carried(memory(5, trust=0.0)).doubt == 1.0
