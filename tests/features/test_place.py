"""`place`: the classes' frequencies by cell."""

import numpy as np

from anyscene.features.place import CELLS, Place, fit_place
from anyscene.features.view import View

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


def test_the_map_is_the_same_whatever_the_frame_shows():
    place = Place(fit_place([(FRAME, skyline())], 2)["chances"])
    np.testing.assert_array_equal(place.extract(View(FRAME)), place.extract(View(FRAME + 1)))
