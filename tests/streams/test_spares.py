"""Memory for copies of frames is used again, and never while somebody reads it."""

import numpy as np

from anyscene.streams.spares import Spares


def frame(value, shape=(4, 6, 3)):
    return np.full(shape, value, np.uint8)


def test_a_copy_that_was_given_back_is_written_over():
    spares = Spares()
    first = spares.copy_of(frame(1))
    spares.give_back(first)
    second = spares.copy_of(frame(2))
    assert second is first
    assert (second == 2).all()


def test_a_copy_in_use_is_left_alone():
    spares = Spares()
    first, second = spares.copy_of(frame(1)), spares.copy_of(frame(2))
    assert (first == 1).all()
    assert not np.shares_memory(first, second)


def test_frames_of_another_size_get_memory_of_their_own():
    spares = Spares()
    spares.give_back(spares.copy_of(frame(1)))
    assert spares.copy_of(frame(2, (2, 2, 3))).shape == (2, 2, 3)
