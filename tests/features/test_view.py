"""A view's smaller versions of its frame."""

import cv2
import numpy as np
import pytest

from anyscene.features import View
from anyscene.hierarchy import fit


@pytest.fixture(params=[True, False], ids=["writeable", "read-only"])
def view(request):
    small = np.random.default_rng(0).integers(0, 256, (9, 12, 3), dtype=np.uint8)
    frame = cv2.resize(small, (120, 90))
    frame.flags.writeable = request.param
    return View(frame)


def test_a_fitted_frame_is_made_once(view):
    assert view.fitted((32, 64)) is view.fitted((32, 64))
    np.testing.assert_array_equal(view.fitted((32, 64)), fit(view.image, (32, 64)))


@pytest.mark.parametrize("read", [(32, 64), (64, 96)])
def test_colours_of_cells_are_much_the_same_whether_or_not_a_network_has_read_the_frame(view, read):
    rows, columns = read[0] // 4, read[1] // 4
    before = view.colors(rows, columns)
    view.fitted(read)
    after = view.colors(rows, columns)
    assert before.shape == after.shape == (rows, columns, 3)
    assert np.abs(before.astype(int) - after).max() <= 3
