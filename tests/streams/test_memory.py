"""Beliefs from frame to frame: mixed by trust, moved along, shown."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anyscene.streams.memory import KEEP, Memory, merged, moved, shown
from anyscene.streams.motion import Motion, no_motion

GRID, CLASSES = (6, 8), 3


def memory(seed, trust=1.0, seen_ms=0.0):
    scores = np.random.default_rng(seed).normal(0, 2, (*GRID, CLASSES)).astype(np.float32)
    return Memory(scores, np.full(GRID, trust, np.float32), seen_ms)


trusts = st.floats(0.01, 2.0)


@given(st.integers(0, 99), trusts, trusts)
def test_a_mixture_lies_between_what_is_mixed(seed, old, new):
    older, newer = memory(seed, old), memory(seed + 1, new, 10.0)
    mixed = merged(older, newer)
    low, high = np.minimum(older.scores, newer.scores), np.maximum(older.scores, newer.scores)
    assert (mixed.scores >= low - 1e-4).all()
    assert (mixed.scores <= high + 1e-4).all()
    assert mixed.seen_ms == 10.0


@given(trusts)
def test_trust_settles_however_often_one_looks(first):
    held = memory(0, first)
    for turn in range(24):
        held = merged(held, memory(turn))
    assert np.allclose(held.trust, 1 / (1 - KEEP), atol=0.01)


def test_what_is_trusted_more_decides():
    older, newer = memory(0, 0.01), memory(1, 1.0)
    assert np.abs(merged(older, newer).scores - newer.scores).max() < 0.1


def test_no_motion_changes_nothing_and_mismatch_costs_trust():
    held = memory(2)
    same = moved(held, no_motion(GRID))
    assert np.allclose(same.scores, held.scores)
    still = no_motion(GRID)
    doubted = moved(held, Motion(still.columns, still.rows, np.full(GRID, 0.25, np.float32), 0.1))
    assert np.allclose(doubted.trust, 0.25)
    assert doubted.moved == 0.1
    assert doubted.doubt > held.doubt


def test_showing_never_changes_the_best_class_of_a_cell():
    held = memory(3, 0.1)
    assert (shown(held).argmax(axis=2) == held.scores.argmax(axis=2)).all()


def test_entropy_of_beliefs_that_know_nothing_is_that_of_equal_chances():
    flat = Memory(np.zeros((*GRID, CLASSES), np.float32), np.ones(GRID, np.float32), 0.0)
    assert np.isclose(flat.entropy, np.log(CLASSES), atol=1e-4)
