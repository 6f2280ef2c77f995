import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anyscene.features.hypercolumn.crops import best_crop
from anyscene.features.hypercolumn.network import input_size

FRAME = (360, 480)


def test_the_crop_holds_the_doubt():
    doubt = np.zeros((90, 120), np.float32)
    doubt[60:80, 10:40] = 1
    crop = best_crop(doubt, FRAME, 1.0, 0.5)
    assert crop is not None
    assert crop.held > 0.99
    assert crop.cost < 0.3
    assert crop.rect.top <= 240
    assert crop.rect.bottom >= 320
    assert crop.rect.left <= 40
    assert crop.rect.right >= 160


def test_nothing_in_doubt_needs_no_crop():
    assert best_crop(np.zeros((9, 12), np.float32), FRAME, 0.5, 0.5) is None


@given(
    st.tuples(st.integers(20, 700), st.integers(20, 700)),
    st.sampled_from([0.25, 0.5, 1.0]),
    st.sampled_from([0.3, 0.5, 1.0]),
    st.integers(0, 99),
)
def test_a_crop_lies_in_the_frame_and_keeps_its_scale(frame, scale, largest, seed):
    doubt = np.random.default_rng(seed).random((17, 23)).astype(np.float32)
    crop = best_crop(doubt, frame, scale, largest)
    if crop is None:
        return
    rect = crop.rect
    assert 0 <= rect.top < rect.bottom <= frame[0]
    assert 0 <= rect.left < rect.right <= frame[1]
    assert 0 < crop.held <= 1 + 1e-9
    whole = input_size(*frame, scale)
    inside = input_size(rect.height, rect.width, scale)
    assert inside[0] <= whole[0]
    assert inside[1] <= whole[1]
