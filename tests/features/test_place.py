"""`place`: the classes' frequencies by cell."""

import numpy as np
import pytest

from anyscene.features.place import CELLS, Place, fit_place
from anyscene.features.view import Rect, View

FRAME = np.zeros((48, 64, 3), np.uint8)


def skyline(height=48, width=64, classes_above=0):
    """Truth with one class in the upper half, another in the lower."""
    truth = np.ones((height, width), np.int16)
    truth[: height // 2] = classes_above
    return truth


def test_a_class_is_likely_where_it_was_seen():
    chances = fit_place([(FRAME, skyline())] * 40, 3)["chances"]
    assert chances.shape == (*CELLS, 3)
    np.testing.assert_allclose(chances.sum(axis=2), 1, atol=1e-6)
    assert (chances[:8, :, 0] > 0.9).all()
    assert (chances[-8:, :, 1] > 0.9).all()
    assert (chances[..., 2] < 0.01).all()


def test_void_counts_for_nothing_and_sizes_may_differ():
    void = np.full((30, 20), -1, np.int16)
    alone = fit_place([(FRAME, skyline())], 2)["chances"]
    together = fit_place([(FRAME, skyline()), (FRAME, void)], 2)["chances"]
    np.testing.assert_allclose(alone, together)
    np.testing.assert_allclose(fit_place([(FRAME, skyline(96, 128))], 2)["chances"], alone)


def test_truths_smaller_than_the_cells_give_probabilities():
    chances = fit_place([(FRAME, np.zeros((1, 1), np.int16))], 2)["chances"]
    np.testing.assert_allclose(chances.sum(axis=2), 1, atol=1e-6)


@pytest.mark.parametrize("rect", [Rect(0, 0, 24, 64), Rect(12, 8, 36, 40)], ids=["half", "middle"])
def test_a_part_is_what_lies_under_it(rect):
    place = Place(fit_place([(FRAME, skyline())] * 9, 2)["chances"])
    view = View(FRAME)
    whole, part = place.extract(view, view.rect, 0), place.extract(view, rect, 0)
    top, bottom = rect.top * CELLS[0] // 48, rect.bottom * CELLS[0] // 48
    left, right = rect.left * CELLS[1] // 64, rect.right * CELLS[1] // 64
    expected = whole[top:bottom, left:right].mean(axis=(0, 1))
    np.testing.assert_allclose(part.mean(axis=(0, 1)), expected, atol=0.02)
